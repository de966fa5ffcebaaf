"""Ask what would be if an instance were another: run it changed and unchanged, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rarmodel.changes import (
    UNCHANGED,
    Alternative,
    changed,
    parse_alternatives,
    place_of,
    stopped_jobs,
)
from rarmodel.errors import InputError, Problem, UsageError, listed
from rarmodel.limits import INTERRUPTED
from rarmodel.methods import Method
from rarmodel.schema import Instance

from .alternatives import Tried, WhatIf
from .arguments import asked
from .draws import draws_of
from .sources import Source
from .ways_to_answer import Question, way_to_answer

if TYPE_CHECKING:
    from rarmodel import online


@asked
def what_if(
    instances: Source | Iterable[Source],
    changes: str | Sequence[str],
    *,
    policy: str | online.Policy | None = None,
    placement: str | online.Placement | None = None,
    method: str | Method | None = None,
    objective: str | Sequence[str] | None = None,
    time_limit: float | None = None,
    iterations: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    seeds: int = 1,
    each: Callable[[str, int, int], None] | None = None,
    progress: Callable[[float | None, float | None], None] | None = None,
    played: Callable[[str, online.Progress], None] | None = None,
) -> WhatIf:
    """Ask what would be with other servers, links, GPUs, limits, arrivals, policies or methods.

    Jobs that arrive are simulated under a policy, as `simulate` does: so it is if a policy or a
    placement is named, or if no method is and some job is released after slot 0. Otherwise each
    alternative is solved by a method, as `solve` does. A job keeps its iterations, however fast
    links and GPUs become.

    Parameters
    ----------
    instances
        An instance, a file, a folder of files, the name of a bundled instance or of a random
        family, which each seed draws anew; or several of these. All are draws of one cluster and
        its jobs.
    changes
        Alternatives beside the unchanged instance, such as `"servers=+4"`. A comma joins changes
        into one alternative. `rarmodel.changes.KNOWN` has them all.
    policy, placement
        Who decides in the simulations, unless an alternative says otherwise; by default
        `fifo-backfill` and `consolidate`.
    method
        Solve by this method, unless an alternative says otherwise; by default `search`.
    objective
        What is minimised, instead of each instance's own objective; see `solve`.
    time_limit, iterations, threads
        Limits of each solve; by default 10 seconds. See `Limits`.
    seed
        Seed of all random numbers.
    seeds
        Number of seeds, from `seed` on: each instance is run with each.
    each
        Called before each run: with its title, its number from 1, and the number of all runs.
    progress
        Called during solves; see `Limits`.
    played
        Is told the title and how far a simulation is, a few times a second.

    Returns
    -------
    WhatIf
        A row for each alternative, with differences. After Ctrl-C it has the runs that are
        complete.

    Raises
    ------
    InputError
        If an instance is malformed, or changes are unknown, wrong or impossible: with all of them.
    UsageError
        If a name is unknown, options exclude each other, or a policy or method does not take an
        alternative.
    VerificationError
        If a schedule breaks a constraint.
    """
    alternatives, problems = parse_alternatives([changes] if isinstance(changes, str) else changes)
    if not alternatives:
        raise UsageError("name at least one change, such as servers=+4")
    every = [UNCHANGED, *alternatives]
    drawn = draws_of(instances, range(seed, seed + seeds), objective)
    several = len({draw.instance for draw, _ in drawn}) > 1
    made = [
        [_made(instance, one, problems, named=several) for one in every] for _, instance in drawn
    ]
    if problems:
        raise InputError(dict.fromkeys(problems))
    way = way_to_answer(
        every,
        [instance for _, instance in drawn],
        policy=policy,
        placement=placement,
        method=method,
        limits={"time_limit": time_limit, "iterations": iterations, "threads": threads},
    )
    unfit = [
        Problem(place_of(one.label) if one.changes else "", why)
        for instances_of_draw in made
        for one, instance in zip(every, instances_of_draw, strict=True)
        if (why := way.unfit(one, instance))
    ]
    if unfit:
        raise InputError(dict.fromkeys(unfit))
    trials = list[Tried]()
    runs = [(k, i) for k in range(len(drawn)) for i in range(len(every))]
    for number, (k, i) in enumerate(runs, 1):
        title = f"{every[i].label}, {number} of {len(runs)}"
        if each is not None:
            each(title, number, len(runs))
        draw, before = drawn[k]
        answer = way.answer(
            Question(every[i], made[k][i], draw.seed, title, progress=progress, played=played)
        )
        if answer.outcome.stopped == INTERRUPTED:
            break
        notes = answer.notes
        if stopped := stopped_jobs(before, made[k][i]):
            notes += (f"jobs {listed(stopped)} wait at slot 0, from their last checkpoint on",)
        trials.append(Tried(i, k, answer.outcome, answer.figures, notes))
    return WhatIf(
        alternatives=tuple(one.label for one in every),
        by=way.told,
        time=drawn[0][1].time,
        draws=tuple(draw for draw, _ in drawn),
        trials=tuple(trials),
    )


def _made(
    instance: Instance, alternative: Alternative, problems: list[Problem], *, named: bool
) -> Instance:
    """The instance with the changes of an alternative; what is wrong with them is noted.

    Places begin with the name of the instance if it is to be `named`, among others.
    """
    try:
        return changed(instance, alternative)
    except InputError as error:
        before = f"{instance.name}: " if named else ""
        problems += [Problem(f"{before}{one.place}", one.message) for one in error.problems]
        return instance
