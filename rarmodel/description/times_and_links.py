"""Facts about an instance that need no solver: execution times of jobs, links by level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rarmodel.bounds.least_demands import least_areas
from rarmodel.model import (
    best_placements,
    job_extremes,
    least_slots_by_placement,
    slowest_alone,
    topology,
)
from rarmodel.model.held_parts import held_parts
from rarmodel.model.objectives import exact, number
from rarmodel.schema import Instance


@dataclass(frozen=True)
class JobTimes:
    """One job, with its execution times by placement.

    Attributes
    ----------
    name
        Name of the job.
    gpus
        GPUs that the job holds, G_j; the sizes from which to choose if it is moldable, ascending.
    iterations
        Training iterations to do from slot 0 on, F_j.
    least_slots
        Least execution time in slots: alone in its best placement.
    servers
        Number of servers in that placement.
    packed, spread
        Least execution time in slots on one server and on several; None if impossible.
    slowest_alone
        Execution time in slots, alone in its worst placement; None if it makes no progress there.
    most_slots
        Upper bound on the execution time in slots with as many other rings as fit; None if these
        can stop the job.
    least_area
        The fewest GPU slots that it can hold, over all sizes.
    """

    name: str
    gpus: int | tuple[int, ...]
    iterations: int
    least_slots: int
    servers: int
    packed: int | None
    spread: int | None
    slowest_alone: int | None
    most_slots: int | None
    least_area: int | float


@dataclass(frozen=True)
class Size:
    """The jobs of one size, or with the same choice of sizes.

    Attributes
    ----------
    gpus
        GPUs of each job; the sizes if it is moldable.
    jobs
        Number of jobs.
    iterations, least_slots, servers
        Least and greatest value of the jobs; see `JobTimes`.
    slowest_alone, most_slots
        The greatest value; None if some job can stop.
    gpu_slots
        Sum over the jobs of the fewest GPU slots that each can hold: GPUs times least execution
        time where a job has one size.
    """

    gpus: int | tuple[int, ...]
    jobs: int
    iterations: tuple[int, int]
    least_slots: tuple[int, int]
    servers: tuple[int, int]
    slowest_alone: int | None
    most_slots: int | None
    gpu_slots: int | float


@dataclass(frozen=True)
class Level:
    """The links of a network at one distance from its root.

    Attributes
    ----------
    depth
        1 for the links to the root.
    links
        Number of links.
    gbps
        Least and greatest rate in Gbit/s.
    """

    depth: int
    links: int
    gbps: tuple[float, float]


def job_times(instance: Instance) -> Iterator[JobTimes]:
    """The execution times of each job, by placement."""
    parts, held, _ = held_parts(instance)
    for job, extreme, best, least, slowest, area in zip(
        instance.jobs,
        job_extremes(instance),
        best_placements(instance),
        least_slots_by_placement(instance),
        slowest_alone(instance),
        least_areas(instance, lambda j, gpus: gpus * held[j]),
        strict=True,
    ):
        yield JobTimes(
            name=job.name,
            gpus=job.sizes[0] if len(job.sizes) == 1 else job.sizes,
            iterations=job.iterations_left,
            least_slots=extreme.least_slots,
            servers=len(best),
            packed=least.packed,
            spread=least.spread,
            slowest_alone=slowest,
            most_slots=extreme.most_slots,
            least_area=area if parts == 1 else number(exact(Fraction(area, parts))) or 0,
        )


def size_of(jobs: Sequence[JobTimes]) -> Size:
    """Group the jobs by size."""
    return Size(
        gpus=jobs[0].gpus,
        jobs=len(jobs),
        iterations=_ends(job.iterations for job in jobs),
        least_slots=_ends(job.least_slots for job in jobs),
        servers=_ends(job.servers for job in jobs),
        slowest_alone=_greatest(job.slowest_alone for job in jobs),
        most_slots=_greatest(job.most_slots for job in jobs),
        gpu_slots=sum(job.least_area for job in jobs),
    )


def network(instance: Instance) -> tuple[tuple[Level, ...], list[float]]:
    """Links by level; and for each switch, the rate of its links below divided by its uplink's."""
    tree = topology(instance.cluster)
    uplink = {link.node: link for link in tree.links}
    below: dict[str, float] = {}
    depths: dict[str, int] = {}
    rates: dict[int, list[float]] = {}
    for link in tree.links:
        below[link.parent] = below.get(link.parent, 0.0) + link.gbps
        path = [link.node]
        while path[-1] not in depths and path[-1] in uplink:
            path.append(uplink[path[-1]].parent)
        depths.setdefault(path[-1], 0)
        for node in reversed(path[:-1]):
            depths[node] = depths[uplink[node].parent] + 1
    for link in tree.links:
        rates.setdefault(depths[link.node], []).append(link.gbps)
    levels = tuple(
        Level(depth, len(gbps), (min(gbps), max(gbps))) for depth, gbps in sorted(rates.items())
    )
    return levels, [below[node] / uplink[node].gbps for node in below if node in uplink]


def _ends(values: Iterable[int]) -> tuple[int, int]:
    found = list(values)
    return min(found), max(found)


def _greatest(values: Iterable[int | None]) -> int | None:
    """The greatest value, where None is greater than any number."""
    found = list(values)
    return None if None in found else max(value or 0 for value in found)
