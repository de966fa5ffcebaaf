"""The distribution of a family's random instances, and checks of a user's changes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rarmodel.errors import UsageError
from rarmodel.limits import is_whole
from rarmodel.model import timing
from rarmodel.schema.base import LEAST_POSITIVE, MAX_NUMBER
from rarmodel.schema.cluster import MAX_GPUS

from .drawn import Drawn

MAX_JOBS = 1_000_000
"""Most jobs of a workload: a greater number is a mistake, and would only exhaust the memory."""


Span = tuple[float, float]
"""Least and greatest value, both included."""


@dataclass(frozen=True)
class Settings:
    """Distribution of a family's instances. All random numbers are uniform in their ranges.

    Raises
    ------
    UsageError
        If a value is out of its range, or the values contradict each other.

    Attributes
    ----------
    family
        Name of the family.
    jobs
        Number of jobs.
    servers
        Number of servers.
    capacities
        Numbers of GPUs that a server can have, all equally likely, O_s.
    sizes
        GPUs of a job, G_j, and weight. Jobs have sizes in proportion to the weights, as exactly as
        whole numbers can (largest remainders); their order is random.
    iterations
        F_j.
    iteration_slots
        Time of an iteration within one server, in slots, at most 1: τ_j without contention.
    execution_slots
        Execution time within one server, in slots: the two above are drawn until they fit it.
    gradient_mb
        Size of the gradient in MB, m_j.
    gradient_per_second
        Whether `gradient_mb` is per second of iteration time instead of per job.
    batch_sizes
        Samples in the mini-batch of each GPU, M_j, all equally likely.
    slot_seconds
        Length of a slot in seconds.
    horizon
        Number of slots; None for as many as the jobs need one after another in their best
        placements.
    network_gbps
        Rate of each server's link in Gbit/s, b^e.
    racks
        Number of racks below one core switch, to which servers go in turn; 0 for a star.
    oversubscription
        Total rate of a rack's servers divided by the rate of its uplink.
    intra_server_gbps, reduction_gbps
        Rates within a server, b^i and C, in Gbit/s.
    alpha, concurrency
        α and ξ1 of the contention model.
    overhead_ms_per_server
        ξ2 in milliseconds.
    seed
        Seed of all random numbers.
    features
        What the instances have beside the paper's problem, for `drawn.features_of`.
    """

    family: str
    jobs: int
    servers: int
    capacities: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]
    iterations: tuple[int, int]
    iteration_slots: Span
    execution_slots: tuple[int, int]
    gradient_mb: Span
    gradient_per_second: bool
    batch_sizes: tuple[int, ...]
    slot_seconds: float
    horizon: int | None
    network_gbps: float
    intra_server_gbps: float
    reduction_gbps: float
    alpha: float
    concurrency: float
    overhead_ms_per_server: float
    racks: int = 0
    oversubscription: float = 1.0
    seed: int = 0
    features: tuple[Drawn, ...] = ()

    def __post_init__(self) -> None:
        if wrong := [*self._out_of_range()] or [*self._contradictions()]:
            raise UsageError("; ".join(wrong))

    def _out_of_range(self) -> Iterator[str]:
        """The problems of single values."""
        wholes = {
            "jobs": (self.jobs, 1, MAX_JOBS),
            "servers": (self.servers, 1, MAX_GPUS),
            "racks": (self.racks, 0, max(self.servers, 0)),
            "seed": (self.seed, 0, 2**31 - 1),
        }
        if self.horizon is not None:
            wholes["horizon"] = (self.horizon, 1, 2**53 - 1)
        for name, (value, least, most) in wholes.items():
            if not (is_whole(value) and least <= value <= most):
                yield f"{name} {value}: it must be a whole number from {least} to {most}"
        for name, counts in (
            ("capacities", self.capacities),
            ("GPUs of sizes", [gpus for gpus, _ in self.sizes]),
            ("weights of sizes", [weight for _, weight in self.sizes]),
            ("batch sizes", self.batch_sizes),
        ):
            if not counts or not all(is_whole(c) and 1 <= c <= MAX_GPUS for c in counts):
                yield f"{name} {list(counts)}: whole numbers of at least 1 are expected"
        if len({gpus for gpus, _ in self.sizes}) < len(self.sizes):
            yield "sizes: a number of GPUs occurs twice; give each one weight"
        spans: tuple[tuple[str, Span, float, float], ...] = (
            ("iterations", self.iterations, 1, 2**53 - 1),
            ("iteration slots", self.iteration_slots, LEAST_POSITIVE, 1),
            ("execution slots", self.execution_slots, 1, 2**53 - 1),
            ("gradient MB", self.gradient_mb, 0, MAX_NUMBER),
        )
        for name, (low, high), bottom, top in spans:
            if not bottom <= low <= high <= top:
                yield f"{name} {low}..{high}: they must be in order, from {bottom:g} to {top:g}"
        for name, span in (
            ("iterations", self.iterations),
            ("execution slots", self.execution_slots),
        ):
            if not all(is_whole(end) for end in span):
                yield f"{name} {span[0]}..{span[1]}: they must be whole numbers"
        for name in (
            "slot_seconds",
            "network_gbps",
            "intra_server_gbps",
            "reduction_gbps",
            "oversubscription",
        ):
            if not LEAST_POSITIVE <= getattr(self, name) <= MAX_NUMBER:
                yield f"{name} {getattr(self, name)}: it must be above 0 and at most {MAX_NUMBER:g}"
        for name in ("alpha", "overhead_ms_per_server"):
            if not 0 <= getattr(self, name) <= MAX_NUMBER:
                yield f"{name} {getattr(self, name)}: it must be from 0 to {MAX_NUMBER:g}"
        if not 0 < self.concurrency <= 1:
            yield f"concurrency {self.concurrency}: it must be above 0 and at most 1"

    def _contradictions(self) -> Iterator[str]:
        """The problems of values that contradict each other."""
        widest, most = max(gpus for gpus, _ in self.sizes), self.servers * max(self.capacities)
        if most > MAX_GPUS:
            yield f"{self.servers} servers: more than {MAX_GPUS} GPUs in all"
        if widest > most:
            yield (
                f"jobs of {widest} GPUs: {self.servers} servers have at most {most}; "
                "ask for more servers or smaller sizes"
            )
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
