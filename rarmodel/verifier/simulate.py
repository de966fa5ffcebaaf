"""What happens when rings run: equations (6)–(9), slot by slot, in the paper's terms.

Nothing here is shared with the engine but the model's plain functions. Each change of the active
set counts the rings on every link anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rarmodel.model import timing
from rarmodel.model.contention import ring_share
from rarmodel.model.topology import Topology, topology
from rarmodel.schema import Instance, Job

from .report import Period, Ring


class Run(NamedTuple):
    """One job, its start slot a_j, and its workers y_js on each server it uses (by index)."""

    job: Job
    start: int
    workers: Mapping[int, int]


class Course(NamedTuple):
    """Outcome of a simulation.

    Attributes
    ----------
    completion
        Completion time of each run; None for one that never completes.
    stuck_since
        The slot from which on nothing changes any more, if some run never completes.
    periods
        Each run of slots with one active set.
    """

    completion: tuple[int | None, ...]
    stuck_since: int | None
    periods: tuple[Period, ...]


def simulate(instance: Instance, runs: Sequence[Run], *, slot_by_slot: bool = False) -> Course:
    """Run jobs from their starts to their completions, past the horizon if need be.

    Speeds are constant while the active set is (reading 7), so time may step from one change of
    the active set to the next; `slot_by_slot` takes every single slot instead, with equal result.
    If every active run has speed 0 and none is still to start, they never complete (reading 3).

    Raises
    ------
    ValueError
        If a start is below 0.
    """
    if any(run.start < 0 for run in runs):
        raise ValueError("slots are numbered from 0; a run starts before that")
    tree = topology(instance.cluster)
    links = [tree.links_used(run.workers) for run in runs]
    waiting = sorted(range(len(runs)), key=lambda i: runs[i].start, reverse=True)
    active: list[int] = []
    done = [0] * len(runs)
    completion: list[int | None] = [None] * len(runs)
    periods: list[Period] = []
    slot, changed, rings = 0, True, dict[int, Ring]()
    known: dict[int, tuple[tuple[int, ...], Ring]] = {}
    while waiting or active:
        while waiting and runs[waiting[-1]].start == slot:
            active.append(waiting.pop())
            changed = True
        if changed:
            rings = _rings(instance, tree, runs, links, active, known)
        steps = [
            timing.slots_needed(runs[i].job.iterations - done[i], rings[i].speed)
            for i in active
            if rings[i].speed > 0
        ]
        if waiting:
            steps.append(runs[waiting[-1]].start - slot)
        if not steps:
            return Course(tuple(completion), slot, tuple(periods))
        step = 1 if slot_by_slot else min(steps)
        if active:
            _record(periods, slot, slot + step, changed, tree, runs, links, rings)
        slot += step
        changed = False
        for i in list(active):
            done[i] += rings[i].speed * step
            if done[i] >= runs[i].job.iterations:  # (9)
                completion[i] = slot
                active.remove(i)
                changed = True
    return Course(tuple(completion), None, tuple(periods))


def _rings(
    instance: Instance,
    tree: Topology,
    runs: Sequence[Run],
    links: Sequence[tuple[int, ...]],
    active: Sequence[int],
    known: dict[int, tuple[tuple[int, ...], Ring]],
) -> dict[int, Ring]:
    """State of each active ring: contention (6), bandwidth (7), iteration time (8), speed.

    A state follows from the rings on the links used; `known` has the last such numbers of each
    run, and what followed from them.
    """
    on_link = Counter(link for i in active for link in links[i])  # p_ℓ
    cluster, contention = instance.cluster, instance.contention
    rings = {}
    for i in active:
        counts = tuple([on_link[link] for link in links[i]])
        if i in known and known[i][0] == counts:
            rings[i] = known[i][1]
            continue
        job = runs[i].job
        bandwidth = min(
            (ring_share(contention, tree.links[link].gbps, on_link[link]) for link in links[i]),
            default=cluster.intra_server_gbps,
        )
        seconds = timing.iteration_seconds(
            timing.exchange_bits(job.gradient_mb, job.gpus),
            bandwidth,
            timing.reduction_seconds(job.gradient_mb, job.gpus, cluster.reduction_gbps),
            timing.overhead_seconds(contention.overhead_ms_per_server, len(runs[i].workers)),
            timing.compute_seconds(job),
        )
        rings[i] = Ring(
            contention=max(counts, default=0),
            bandwidth_gbps=bandwidth,
            iteration_seconds=seconds,
            speed=timing.speed(instance.time.slot_seconds, seconds),
        )
        known[i] = counts, rings[i]
    return rings


def _record(
    periods: list[Period],
    start: int,
    end: int,
    changed: bool,  # noqa: FBT001
    tree: Topology,
    runs: Sequence[Run],
    links: Sequence[tuple[int, ...]],
    rings: Mapping[int, Ring],
) -> None:
    """Add slots `start … end−1`, to the last period if nothing changed since."""
    if not changed:
        last = periods.pop()
        periods.append(Period(last.start, end, last.rings, last.links))
        return
    on_link = Counter(tree.links[link].node for i in rings for link in links[i])
    by_job = {runs[i].job.name: ring for i, ring in rings.items()}
    periods.append(Period(start, end, by_job, dict(on_link)))
