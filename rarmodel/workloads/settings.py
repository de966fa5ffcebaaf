"""Settings that all families of random instances have, and checks of a user's changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rarmodel.argument_checks import is_whole
from rarmodel.errors import UsageError
from rarmodel.schema.base import LEAST_POSITIVE, MAX_NUMBER
from rarmodel.schema.cluster import MAX_GPUS

from .drawn import Drawn

MAX_JOBS = 1_000_000
"""Most jobs of a workload: a greater number is a mistake, and would only exhaust the memory."""


Span = tuple[float, float]
"""Least and greatest value, both included."""


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """Settings of a family's instances. All random numbers are uniform in their ranges.

    Families differ in how the compute times of jobs are drawn: see `Timed` and `Stars`.

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
        GPUs of a job, G_j, and weight.
    iterations
        F_j.
    gradient_mb
        Size of the gradient in MB, m_j.
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
    gradient_mb: Span
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

    load: ClassVar[frozenset[str]] = frozenset(
        {"jobs", "servers", "capacities", "sizes", "iterations"}
    )
    """Settings to which a family's own horizon belongs."""

    @abstractmethod
    def draw(self) -> tuple[list[int], list[dict[str, Any]]]:
        """Draw the GPUs of each server, and the jobs without their names.

        Random numbers are rounded to decimals before use, so that the file does not depend on the
        last bits of a platform's arithmetic.

        Raises
        ------
        UsageError
            If the random numbers are repeatedly out of their range.
        """

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
            if not _are_counts(counts):
                yield f"{name} {list(counts)}: whole numbers of at least 1 are expected"
        if len({gpus for gpus, _ in self.sizes}) < len(self.sizes):
            yield "sizes: a number of GPUs occurs twice; give each one weight"
        yield from disordered("iterations", self.iterations, 1, 2**53 - 1)
        yield from broken("iterations", self.iterations)
        yield from disordered("gradient MB", self.gradient_mb, 0, MAX_NUMBER)
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


def _are_counts(values: object) -> bool:
    """Whether these are whole numbers of at least 1; the bytes of a text are none."""
    if isinstance(values, bytes) or not isinstance(values, Sequence):
        return False
    return len(values) > 0 and all(is_whole(c) and 1 <= c <= MAX_GPUS for c in values)


def disordered(name: str, span: Span, bottom: float, top: float) -> Iterator[str]:
    """The problem of a range that is not in order, or exceeds its limits."""
    low, high = span
    if not bottom <= low <= high <= top:
        yield f"{name} {low}..{high}: they must be in order, from {bottom:g} to {top:g}"


def broken(name: str, span: Span) -> Iterator[str]:
    """The problem of a range of other than whole numbers."""
    if not all(map(is_whole, span)):
        yield f"{name} {span[0]}..{span[1]}: they must be whole numbers"
