"""What a GPU does at best in a slot, where jobs share GPUs (section 15).

Jobs beside each other are slower than alone, so a GPU of Q slices does less than Q times the work
of one job. An iteration of job j is worth `1/a_j` GPU slots, with `a_j` the most iterations that a
worker can stand for in a slot: `φ_jw/w` for rings of w workers, alone in the best placement. With
loads L_u of others on the GPUs u of its ring, the job does at most `φ_jw(max L_u)` iterations, and
so at most the sum over its GPUs of `φ_jw(L_u)/w`, as φ does not rise with the load. So what a GPU
is worth in a slot is at most the sum of `ρ_j(L) = max_w φ_jw(L)/(w·a_j)` over the jobs there, and
the greatest such sum over all sets of jobs that fit is no less than what any GPU is worth.

Two jobs are tried pair by pair. Of more, each meets at least those of the others that count least
to it, beside the fewest slices, and the greatest `ρ` are there. Memory is left out. All of this
only makes a GPU seem better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import ceil, floor

from rarmodel.model import lone_options
from rarmodel.model.caching import once_per_instance
from rarmodel.model.gpu_sharing import losses, shares_gpus
from rarmodel.model.objectives import Objective
from rarmodel.schema import Instance

from .bound import ALWAYS, ON_MAKESPAN, Bound
from .least_demands import works

PARTS = 2**30
"""Parts of a GPU slot: sums of fractions would have ever longer denominators."""
MOST_KINDS = 150
"""Most kinds of jobs of which all pairs are tried."""

Rate = Callable[[int, int], Fraction]
"""Of a job, by index, and a load of others on a GPU: iterations that a worker stands for."""


def best_companions(instance: Instance, _: Objective) -> int | None:
    """All work over what GPUs do at best; from each earliest start on, that of later jobs alone."""
    if not shares_gpus(instance):
        return None
    a_slot = sum(
        server.gpus * _at_best(instance, instance.cluster.slices_of(server))
        for server in instance.cluster.servers
    )
    rate = _rates(instance)
    needed = bound = 0
    for work in sorted(works(instance), key=lambda work: -work.head):
        left = instance.jobs[work.job].iterations_left
        needed += floor(PARTS * left / rate(work.job, 0))
        bound = max(bound, work.head - (-needed // a_slot))
    return bound


@once_per_instance
def _rates(instance: Instance) -> Rate:
    options = lone_options(instance)

    @cache
    def rate(kind: int, load: int) -> Fraction:
        return max(
            Fraction(one.pace.beside(load).speed(one.servers, one.gbps), one.pace.size)
            for one in options[kind]
        )

    kinds: dict[object, int] = {}
    kind = [kinds.setdefault(own, j) for j, own in enumerate(options)]
    return lambda j, load: rate(kind[j], load)


def _at_best(instance: Instance, slices: int) -> int:
    """What a GPU of so many slices is worth in a slot at most, in parts, rounded up."""
    lost, rate, jobs = losses(instance), _rates(instance), instance.jobs
    taken = ((j, one.slices or slices) for j, one in enumerate(jobs))
    sharing = {j: own for j, own in taken if own < slices}
    best, parts = Fraction(1), _Least(sharing.values())
    loads = {
        column: _Least(lost.units[lost.row[i]][column] for i in sharing)
        for column in {lost.column[j] for j in sharing}
    }

    def worth(j: int, load: int) -> Fraction:
        return rate(j, load) / rate(j, 0)

    for many in range(2, len(sharing) + 1):
        worths = [
            worth(j, loads[lost.column[j]].beside(lost.of(j, j), many - 1))
            for j, own in sharing.items()
            if own + parts.beside(own, many - 1) <= slices
        ]
        if len(worths) < many:
            break
        worths.sort(reverse=True)
        together = sum(worths[:many], Fraction(0))
        if many == 2:
            together = min(together, _best_pair(instance, sharing, slices, worth) or together)
        best = max(best, together)
    return ceil(PARTS * best)


class _Least:
    """The least numbers of some, without one of them.

    Parameters
    ----------
    numbers
        The numbers.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = sorted(numbers)
        self._sums = [0, *accumulate(self._numbers)]

    def beside(self, own: int, others: int) -> int:
        """The least sum of so many, where one of all, which is `own`, is not among them."""
        if own < self._numbers[others]:  # It is among the least.
            return self._sums[others + 1] - own
        return self._sums[others]


def _best_pair(
    instance: Instance,
    sharing: dict[int, int],
    slices: int,
    worth: Callable[[int, int], Fraction],
) -> Fraction | None:
    """The most that two jobs on a GPU are worth; None if there are too many kinds of them."""
    lost, options = losses(instance), lone_options(instance)
    kinds: dict[object, list[int]] = {}
    for j, own in sharing.items():
        kind = options[j], lost.column[j], lost.row[j], own
        kinds.setdefault(kind, []).append(j)
    if len(kinds) > MOST_KINDS:
        return None
    few = [some[:2] for some in kinds.values()]  # A kind may be beside itself.
    pairs = (
        (some[0], others[0] if others is not some else some[-1])
        for place, some in enumerate(few)
        for others in few[place:]
    )
    return max(
        (
            worth(j, lost.of(j, i)) + worth(i, lost.of(i, j))
            for j, i in pairs
            if i != j and sharing[i] + sharing[j] <= slices
        ),
        default=Fraction(1),
    )


BEST_COMPANIONS = Bound(
    "best companions",
    "the jobs need this many slots even if each GPU always has the jobs that suit each other best",
    best_companions,
    objectives=ON_MAKESPAN,
    handles=ALWAYS,
    rank=22,
)
