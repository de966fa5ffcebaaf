"""Plans that keep deadlines: without the jobs that cannot keep theirs beside the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf

from rarmodel.errors import NoScheduleError
from rarmodel.lists.dispatching_rules import Rule
from rarmodel.methods import Result
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

    If no plan is found, rarmodel lets the jobs of earliest deadlines go first, and leaves out the
    first job that ends too late, with all that wait for it, until none does.

    Parameters
    ----------
    instance
        The problem.
    made
        Makes a plan.
    ordered
        Makes one by a rule.

    Raises
    ------
    NoScheduleError
        If no job can keep its deadline.
    """
    left = list[str]()
    found = made(instance)
    if found[0].schedule is not None:
        return instance, found, ()
    while any(job.deadline is not None for job in instance.jobs):
        first = ordered(without_deadlines(instance), earliest_deadline(instance))[0]
        if (late := _first_late(instance, first)) is None:
            break
        left += _with_followers(instance, [late])
        remaining = tuple(job for job in instance.jobs if job.name not in left)
        if not remaining:
            raise NoScheduleError(f"{instance.name}: no job can keep its deadline")
        instance = instance.model_copy(update={"jobs": remaining})
    if left:
        found = made(instance)
    if found[0].schedule is None:  # This order keeps the deadlines that are left, if any does.
        found = ordered(instance, earliest_deadline(instance))
    return instance, found, tuple(left)


def _first_late(instance: Instance, result: Result) -> str | None:
    """The first job to end too late; None if there is none."""
    ends = result.report.completion if result.report else {}
    late = missed(instance, ends) if ends else []
    return min(late, key=lambda name: (ends.get(name) or inf, name), default=None)


def _with_followers(instance: Instance, names: Iterable[str]) -> list[str]:
    """These jobs and all that come after them."""
    found = dict.fromkeys(names)
    before = -1
    while before < len(found):
        before = len(found)
        found |= {job.name: None for job in instance.jobs if found.keys() & {*job.after}}
    return [*found]
