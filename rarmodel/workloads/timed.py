"""Jobs whose execution times are in a range: they are drawn until they fit it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rarmodel.errors import UsageError
from rarmodel.model import timing
from rarmodel.schema.base import LEAST_POSITIVE

from .settings import Settings, Span, broken, disordered

FORWARD_PART = 0.4
"""Share of the forward pass in the compute time: the ratio of HKBU-HPML/dl-scheduling."""

_TRIES = 10_000
"""After this many draws, a range counts as out of reach."""


@dataclass(frozen=True, kw_only=True)
class Timed(Settings):
    """Settings of a family whose jobs have execution times in a range.

    Jobs have sizes in proportion to the weights, as exactly as whole numbers can (largest
    remainders); their order is random. The compute time is the iteration time minus exchange,
    reduction and overhead within one server.

    Attributes
    ----------
    iteration_slots
        Time of an iteration within one server, in slots, at most 1: τ_j without contention.
    execution_slots
        Execution time within one server, in slots: iterations and their time are drawn until they
        fit it.
    gradient_per_second
        Whether `gradient_mb` is per second of iteration time instead of per job.
    """

    iteration_slots: Span
    execution_slots: tuple[int, int]
    gradient_per_second: bool

    load = Settings.load | {"iteration_slots", "execution_slots"}

    def draw(self) -> tuple[list[int], list[dict[str, Any]]]:
        """Draw GPUs of servers, the order of the job sizes, then job by job.

        Of each job, iterations and iteration time are drawn until the execution time is in its
        range, then gradient and batch size.
        """
        rng = np.random.default_rng(self.seed)
        gpus = _servers(self, rng)
        sizes = [gpus for gpus, count in _counts(self) for _ in range(count)]
        return gpus, [_job(self, gpus, rng) for gpus in rng.permutation(sizes).tolist()]

    def _out_of_range(self) -> Iterator[str]:
        yield from super()._out_of_range()
        yield from disordered("iteration slots", self.iteration_slots, LEAST_POSITIVE, 1)
        yield from disordered("execution slots", self.execution_slots, 1, 2**53 - 1)
        yield from broken("execution slots", self.execution_slots)

    def _contradictions(self) -> Iterator[str]:
        yield from super()._contradictions()
        widest = max(gpus for gpus, _ in self.sizes)
        shortest = math.ceil(self.iterations[0] / speed(self.iteration_slots[0]))
        longest = math.ceil(self.iterations[1] / speed(self.iteration_slots[1]))
        if shortest > self.execution_slots[1] or longest < self.execution_slots[0]:
            low, high = self.execution_slots
            yield (
                f"execution slots {low}..{high}: iterations and iteration slots give "
                f"{shortest}..{longest}"
            )
        # The least iteration that the largest gradient can come with.
        seconds = self.iteration_slots[0] * self.slot_seconds
        gradient = self.gradient_mb[1] * (seconds if self.gradient_per_second else 1.0)
        other = self.other_seconds(gradient, widest)
        if other >= seconds:
            yield (
                f"gradients of {gradient:g} MB: within a server, exchange, reduction and overhead "
                f"take {other:.6g} s, and a whole iteration may take {seconds:.6g} s; "
                "they must leave time to compute"
            )

    def other_seconds(self, gradient_mb: float, gpus: int) -> float:
        """Seconds of an iteration within one server for exchange, reduction and overhead."""
        return (
            timing.exchange_bits(gradient_mb, gpus) / (self.intra_server_gbps * 1e9)
            + timing.reduction_seconds(gradient_mb, gpus, self.reduction_gbps)
            + timing.overhead_seconds(self.overhead_ms_per_server, 1)
        )


def speed(iteration_slots: float) -> int:
    """Iterations that a slot completes, at least 1."""
    return max(1, timing.speed(1.0, iteration_slots))


def _servers(settings: Timed, rng: np.random.Generator) -> list[int]:
    """GPUs of servers; all of them together hold the widest job."""
    widest = max(gpus for gpus, _ in settings.sizes)
    for _ in range(_TRIES):
        gpus: list[int] = rng.choice(settings.capacities, settings.servers).tolist()
        if sum(gpus) >= widest:
            return gpus
    raise UsageError(
        f"jobs of {widest} GPUs: {settings.servers} servers of {list(settings.capacities)} GPUs "
        f"are too small in each of {_TRIES} draws; use more servers or smaller sizes"
    )


def _counts(settings: Timed) -> list[tuple[int, int]]:
    """Numbers of jobs of each size, in proportion to the weights, by largest remainders."""
    total = sum(weight for _, weight in settings.sizes)
    counts = [settings.jobs * weight // total for _, weight in settings.sizes]
    remainders = [settings.jobs * weight % total for _, weight in settings.sizes]
    by_remainder = sorted(range(len(counts)), key=lambda i: -remainders[i])
    for i in by_remainder[: settings.jobs - sum(counts)]:
        counts[i] += 1
    return [(gpus, count) for (gpus, _), count in zip(settings.sizes, counts, strict=True)]


def _job(settings: Timed, gpus: int, rng: np.random.Generator) -> dict[str, Any]:
    for _ in range(_TRIES):
        iterations = int(rng.integers(*settings.iterations, endpoint=True))
        iteration_slots = float(rng.uniform(*settings.iteration_slots))
        slots = math.ceil(iterations / speed(iteration_slots))
        if settings.execution_slots[0] <= slots <= settings.execution_slots[1]:
            break
    else:
        low, high = settings.execution_slots
        raise UsageError(
            f"execution slots {low}..{high}: no such job in {_TRIES} draws; "
            "widen them, or change iterations and iteration slots"
        )
    seconds = iteration_slots * settings.slot_seconds
    per = seconds if settings.gradient_per_second else 1.0
    gradient = float(rng.uniform(*settings.gradient_mb)) * per
    gradient = float(round(gradient)) if gradient >= 1 else round(gradient, 3)
    batch_size = int(rng.choice(settings.batch_sizes))
    milliseconds = (seconds - settings.other_seconds(gradient, gpus)) * 1e3
    forward = round(FORWARD_PART * milliseconds / batch_size, 4)
    return {
        "gpus": gpus,
        "iterations": iterations,
        "gradient_mb": gradient,
        "batch_size": batch_size,
        "forward_ms_per_sample": forward,
        "backward_ms": max(0.01, round(milliseconds - forward * batch_size, 2)),
    }
