"""Which jobs a restricted model frees: jobs that can make room for one another.

The others keep their placements and starts. Kinds of neighbourhoods take turns: jobs near in time,
jobs on the same servers, those that end last with those that could make room for them, those of an
added constraint that is active or broken, and any jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from .placement_pool import Workers

FEW_JOBS = 5
"""Fewest jobs to free: fewer have nothing to exchange, so each gets fewer placements and starts."""


@dataclass(frozen=True)
class Times:
    """When and where jobs run in a schedule, by job."""

    starts: Mapping[str, int]
    ends: Mapping[str, int]
    workers: Mapping[str, Workers]

    @property
    def latest(self) -> int:
        """The latest completion."""
        return max(self.ends.values())


@dataclass(frozen=True)
class Shape:
    """The size of a neighbourhood.

    Attributes
    ----------
    jobs
        Number of jobs to free.
    placements
        Most placements of each.
    reach
        Slots by which each may start earlier or later.
    slack
        Slots by which the others may.
    """

    jobs: int
    placements: int
    reach: int
    slack: int


def shape_of(size: int, times: Times, placements: int, random: Random) -> Shape:
    """A shape of about so many variables, one for each job, placement and start.

    Parameters
    ----------
    size
        Number of variables.
    times
        The incumbent.
    placements
        Most placements that a job has.
    random
        Random numbers.
    """
    latest, number = max(1, times.latest), len(times.starts)
    durations = sorted(times.ends[j] - times.starts[j] for j in times.starts)
    typical = max(1, durations[len(durations) // 2])
    reach = min(latest, random.choice((typical, 2 * typical, 4 * typical, latest)))
    each = min(placements, random.choice((1, 2, 4, 8)))
    slack = random.choice((0, 0, 1, 2))
    if 2 * slack * number > size // 2:
        slack = 0
    left = size - 2 * slack * number
    few = min(number, FEW_JOBS)
    each = max(1, min(each, left // (few * min(2 * reach, latest))))
    reach = max(1, min(reach, left // (few * each)))
    jobs = max(few, min(number, left // (each * min(2 * reach, latest))))
    if jobs == number:  # All are free: there is room for more.
        each = max(1, min(placements, left // (number * min(2 * reach, latest))))
    return Shape(jobs, each, reach, slack)


def near_in_time(times: Times, of: Sequence[str], number: int, random: Random) -> list[str]:
    """Jobs around a slot in which some job runs."""
    centre = random.choice(of)
    at = random.randint(times.starts[centre], max(times.starts[centre], times.ends[centre] - 1))

    def far(j: str) -> float:
        return max(0, times.starts[j] - at, at - times.ends[j] + 1) + random.random()

    return sorted(times.starts, key=far)[:number]


def on_same_servers(times: Times, of: Sequence[str], number: int, random: Random) -> list[str]:
    """Jobs on the servers of a job and of another one, near in time first."""
    first, other = random.choice(of), random.choice(list(times.starts))
    servers = times.workers[first].keys() | times.workers[other].keys()
    begun = times.starts[first]

    def far(j: str) -> tuple[bool, float]:
        apart = servers.isdisjoint(times.workers[j])
        return apart, abs(times.starts[j] - begun) + random.random()

    return sorted(times.starts, key=far)[:number]


def last_to_end(times: Times, of: Sequence[str], number: int, random: Random) -> list[str]:
    """Some of the jobs that end last, and jobs before them."""
    last = sorted(times.ends, key=lambda j: (-times.ends[j], random.random()))[: (number + 1) // 2]
    others = [j for j in times.ends if j not in set(last)]
    return last + random.sample(others, min(len(others), number - len(last)))


def any_jobs(times: Times, of: Sequence[str], number: int, random: Random) -> list[str]:
    """Jobs of the kind that is asked for, and any others."""
    first = random.choice(of)
    others = [j for j in times.starts if j != first]
    return [first, *random.sample(others, min(len(others), number - 1))]


Kind = Callable[[Times, Sequence[str], int, Random], list[str]]
"""Function of the incumbent, the jobs around which to free others, and the number to free."""

KINDS: tuple[Kind, ...] = (near_in_time, last_to_end, on_same_servers, near_in_time, any_jobs)
