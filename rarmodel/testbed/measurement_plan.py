"""What to measure: rings that run at the same time, again and again with other rings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import Annotated, Literal

from pydantic import Field, field_validator

from rarmodel.defaults import TESTBED_SERVERS
from rarmodel.errors import InputError, Problem
from rarmodel.files import read_record
from rarmodel.schema.base import (
    Name,
    NonNegative,
    NonNegativeInteger,
    Positive,
    Record,
    repeated_names,
)

from .network import MOST_SERVERS

MOST_WORKERS = 200
"""Most workers at the same time: each is a process."""

Server = Annotated[NonNegativeInteger, Field(lt=MOST_SERVERS)]


class Ring(Record):
    """A ring and its work."""

    servers: Annotated[tuple[Server, ...], Field(min_length=1)]
    """The server of each worker, in the order of the ring; a server may have several workers."""

    gradient_mb: Annotated[Positive, Field(ge=1e-3, le=1e3)]
    """Size of the vector that the workers sum, in MB (10^6 bytes), m_j."""

    compute_ms: Annotated[NonNegative, Field(le=1e6)] = 0.0
    """Time between two exchanges in milliseconds."""

    name: Name | None = None
    """Name of the job; by default its number in the run."""

    @property
    def links(self) -> tuple[int, ...]:
        """The links that it uses in a star, by their servers."""
        used = tuple(sorted(set(self.servers)))
        return used if len(used) > 1 else ()


class Together(Record):
    """Rings that run at the same time."""

    name: Name
    """Name of the run."""

    rings: Annotated[tuple[Ring, ...], Field(min_length=1)]
    """The rings."""

    part: Literal["fit", "test"] | None = None
    """Whether `calibrate --compare-models` fits constants to it, or tests them on it."""

    @property
    def crowd(self) -> tuple[int, ...]:
        """Contention of each ring, p_j of (6); 1 for a ring that uses no link."""
        return tuple(
            max(
                (sum(link in other.links for other in self.rings) for link in ring.links), default=1
            )
            for ring in self.rings
        )


class Plan(Record):
    """Runs, one after another."""

    runs: Annotated[tuple[Together, ...], Field(min_length=1)]
    """The runs; each has a name of its own."""

    @field_validator("runs")
    @classmethod
    def _can_be_told_apart_and_carried_out(cls, runs: tuple[Together, ...]) -> tuple[Together, ...]:
        problems = [
            Problem(f"[{i}].name", f"{name!r} is an earlier run; a name of its own is expected")
            for i, name in repeated_names(run.name for run in runs)
        ]
        problems += [
            Problem(f"[{i}].rings", f"{workers} workers; at most {MOST_WORKERS} are expected")
            for i, run in enumerate(runs)
            if (workers := sum(len(ring.servers) for ring in run.rings)) > MOST_WORKERS
        ]
        if problems:
            raise InputError(problems)
        return runs

    @property
    def servers(self) -> int:
        """Servers that the runs need."""
        return 1 + max(max(ring.servers) for run in self.runs for ring in run.rings)


def read_plan(source: str | os.PathLike[str]) -> Plan:
    """Read a plan from a JSON or YAML file; errors as in `read_record`."""
    return read_record(Plan, source)


def standard_plan(mixes: int, seed: int) -> Plan:
    """What tells contention models apart, for six servers of 100 Mbit/s, and random mixes.

    The first runs have a ring alone, rings on the same links, on different links that overlap, with
    compute between exchanges, and of different sizes: to fit. The mixes are to test.

    Parameters
    ----------
    mixes
        Number of mixes.
    seed
        Seed of the mixes.
    """
    runs = [
        _together(f"alone, {workers} workers, {mb:g} MB", [(range(workers), mb, 0)])
        for workers in (2, 4)
        for mb in (0.1, 1, 3)
    ]
    for number in (2, 3, 4):
        runs.append(_together(f"{number} on the same links", [(range(4), 1, 0)] * number))
        runs += [
            _together(f"{number} that compute {compute} ms", [(range(2), 1, compute)] * number)
            for compute in (43, 86, 172)
        ]
    for places in ("01 12 23", "01 12 23 24", "01 12 23 24 25", "01 1234 45 45", "012 23 234 45"):
        across = [([int(server) for server in place], 1, 0) for place in places.split()]
        runs.append(_together(f"across {places}", across))
    for sizes in (((1, 0), (1, 200)), ((3, 100), (1, 50), (1, 300)), ((0.1, 20), (1, 100))):
        unequal = [(range(2), mb, compute) for mb, compute in sizes]
        name = " and ".join(f"{mb:g} MB after {compute} ms" for mb, compute in sizes)
        runs.append(_together(name, unequal))
    random = Random(seed)  # noqa: S311 - no secrets here
    runs += [_mix(f"mix {seed}-{number}", random) for number in range(mixes)]
    return Plan(runs=tuple(runs))


def _together(name: str, rings: Iterable[tuple[Iterable[int], float, float]]) -> Together:
    made = tuple(
        Ring(servers=tuple(servers), gradient_mb=mb, compute_ms=compute)
        for servers, mb, compute in rings
    )
    return Together(name=name, rings=made, part="fit")


def _mix(name: str, random: Random) -> Together:
    """Three to six rings of two to four servers, half of them with compute between exchanges."""
    rings = []
    for _ in range(random.randint(3, 6)):
        servers = tuple(sorted(random.sample(range(TESTBED_SERVERS), random.randint(2, 4))))
        mb = random.choice((0.5, 1.0, 2.0))
        compute = random.choice((0.0, 0.0, 50.0, 100.0, 200.0, 300.0))
        rings.append(Ring(servers=servers, gradient_mb=mb, compute_ms=compute))
    return Together(name=name, rings=tuple(rings), part="test")
