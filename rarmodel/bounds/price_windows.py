"""When jobs can be active in schedules that are good enough, by prices of GPUs over time.

Prices prove a bound: what all jobs add and pay at least, less what all GPUs cost (`gpu_prices`). A
job that starts at another time than its cheapest adds and pays more, and so does every schedule in
which it does. Where that exceeds the value of a known schedule, no better one has the job there.
This is the fixing of variables by their reduced costs of integer programming (R. Dembo and P.
Hammer, "A reduction algorithm for knapsack problems", Methods of Operations Research 36, 1980).

The argument is one about starts and completions alike. Up to its completion a job holds GPUs for at
least its least time before, so it adds and pays no less than one that starts so late; and it
completes no earlier than its least time after its start. Prices are whole numbers, and so is all
that is computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from rarmodel.model import Window
from rarmodel.model.caching import once_per_instance
from rarmodel.model.objectives import Objective, Shape, Value, objectives_of
from rarmodel.schema import Instance

from .gpu_prices import GPU_PRICES, outcome
from .price_proof import PriceProof

MOST_STARTS = 50_000_000
"""Starts of all jobs, at most, that are looked at: some tenths of a second."""
EXACT = 2**62
"""Whole numbers below it are computed in 64 bits."""

Windows = tuple[Window, ...]


def windows_by_prices(instance: Instance, at_most: Sequence[Value]) -> Windows | None:
    """(jobs) Windows that each schedule keeps whose objectives are at most so much.

    Parameters
    ----------
    instance
        The problem.
    at_most
        Greatest values of its first objectives, the most important first. A schedule has them.

    Returns
    -------
    tuple[Window, ...] | None
        None if prices say nothing.
    """
    found = [
        one
        for objective, value in zip(objectives_of(instance), at_most, strict=False)
        if (one := _windows(instance, objective, value)) is not None
    ]
    return reduce(_in_both, found) if found else None


def _in_both(some: Windows, others: Windows) -> Windows:
    return tuple(
        Window(max(one.start, other.start), min(one.end, other.end))
        for one, other in zip(some, others, strict=True)
    )


@once_per_instance
def _known(_: Instance) -> dict[tuple[str, Value], Windows | None]:
    """What is known of an instance, by objective and value."""
    return {}


def _windows(instance: Instance, objective: Objective, at_most: Value) -> Windows | None:
    known, key = _known(instance), (objective.name, at_most)
    if key not in known:
        supported = not objective.greatest and GPU_PRICES.supports(instance, objective)
        found = outcome(instance, objective) if supported else None
        proof = None if found is None else found.proof
        known[key] = None if proof is None else _of_proof(proof, at_most)
    return known[key]


def _of_proof(proof: PriceProof, at_most: Value) -> Windows | None:
    """The windows of the jobs at prices; None if that takes too long."""
    relaxed = proof.relaxed
    least, room = proof.least, proof.room
    spare = int(at_most * proof.scale // 1) - (sum(least) - room)
    last = int(relaxed.end.max())
    if len(relaxed.size) * last > MOST_STARTS:
        return None
    paid = _paid(proof, last)
    reach = last + int(abs(relaxed.offset).max())
    if int(relaxed.weight.max()) * reach + int(relaxed.size.max()) * int(paid.max()) >= EXACT:
        return None
    return tuple(_of_job(proof, job, paid, spare + cheapest) for job, cheapest in enumerate(least))


def _paid(proof: PriceProof, last: int) -> np.ndarray:
    """(kinds, slots) What a GPU costs from slot 0 to each slot, up to the last one."""
    each = np.repeat(proof.prices.now[:, :-1].astype(np.int64), proof.relaxed.width, axis=1)
    paid = np.zeros((len(each), last + 1), np.int64)
    priced = min(last, each.shape[1])
    paid[:, 1 : priced + 1] = np.cumsum(each[:, :priced], axis=1)
    paid[:, priced + 1 :] = paid[:, priced : priced + 1]
    return paid


def _of_job(proof: PriceProof, job: int, paid: np.ndarray, most: int) -> Window:
    """The window of a job that may add and pay so much.

    A job that runs at slot 0 starts there; it may complete later than alone.
    """
    relaxed = proof.relaxed
    first, end = int(relaxed.start[job]), int(relaxed.end[job])
    starts, ends = [], []
    for offer in range(relaxed.offer_at[job], relaxed.offer_at[job + 1]):
        slots, kind = int(relaxed.slots[offer]), relaxed.kind[offer]
        completions = np.arange(first + slots, end + 1)
        held = paid[kind, completions] - paid[kind, completions - slots]
        counted = completions - relaxed.offset[job]
        if relaxed.shape[job] == Shape.TARDY:
            counted = np.maximum(counted, 0)
        elif relaxed.shape[job] == Shape.LATE:
            counted = (counted > 0).astype(np.int64)
        costs = int(relaxed.weight[job]) * counted + relaxed.size[offer] * held
        cheap = np.flatnonzero(costs <= most)
        if len(cheap):
            starts.append(first + int(cheap[0]))
            ends.append(first + slots + int(cheap[-1]))
    if not starts:  # No schedule is that good.
        return Window(first, first)
    return Window(first if relaxed.last_start[job] == 0 else min(starts), max(ends))
