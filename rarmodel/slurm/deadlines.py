"""Plans that keep deadlines: without the jobs that cannot keep theirs beside the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf

from rarmodel.dispatch.rules import Rule
from rarmodel.results import Result
from rarmodel.schema import Instance

Made = tuple[Result, tuple[str, ...]]
"""A result, and where it asks for more than a node has."""


def earliest_deadline(instance: Instance) -> Rule:
    """Jobs in order of their deadlines in an instance, each as soon as there is room."""
    deadlines = {job.name: job.deadline for job in instance.jobs if job.deadline is not None}
    return Rule(
        "earliest-deadline",
        "jobs of earliest deadline first, each as soon as there is room",
        lambda other, j: deadlines.get(other.jobs[j].name, inf),
    )


def without_deadlines(instance: Instance) -> Instance:
    """The same, where no job must have ended by some slot."""
    jobs = tuple(job.model_copy(update={"deadline": None}) for job in instance.jobs)
    return instance.model_copy(update={"jobs": jobs})


def missed(instance: Instance, ends: Mapping[str, int | None]) -> list[str]:
    """The waiting jobs that end after their deadlines."""
    return [
        job.name
        for job in instance.jobs
        if job.running is None and job.deadline is not None
        if (end := ends.get(job.name)) is None or end > job.deadline
    ]


def within_deadlines(
    instance: Instance, made: Callable[[Instance], Made], ordered: Callable[[Instance, Rule], Made]
) -> tuple[Instance, Made, tuple[str, ...]]:
    """A plan that keeps deadlines, of as many jobs as can, and the jobs left out.

    If no plan is found, the jobs that end too late where those of earliest deadlines go first are
    left out, with all that wait for them.

    Parameters
    ----------
    instance
        The problem.
    made
        Makes a plan.
    ordered
        Makes one by a rule.
    """
    left = list[str]()
    while True:
        found = made(instance)
        if found[0].schedule is not None or all(job.deadline is None for job in instance.jobs):
            return instance, found, tuple(left)
        rule = earliest_deadline(instance)
        first = ordered(without_deadlines(instance), rule)[0]
        late = missed(instance, first.report.completion) if first.report else []
        if not late:  # This order keeps all deadlines, or finds no schedule either.
            kept = ordered(instance, rule)
            return instance, kept if kept[0].schedule is not None else found, tuple(left)
        late = _with_followers(instance, late)
        remaining = tuple(job for job in instance.jobs if job.name not in late)
        if not remaining:
            return instance, found, tuple(left)
        left += late
        instance = instance.model_copy(update={"jobs": remaining})


def _with_followers(instance: Instance, names: Iterable[str]) -> list[str]:
    """These jobs and all that come after them."""
    found = dict.fromkeys(names)
    before = -1
    while before < len(found):
        before = len(found)
        found |= {job.name: None for job in instance.jobs if found.keys() & {*job.after}}
    return [*found]
