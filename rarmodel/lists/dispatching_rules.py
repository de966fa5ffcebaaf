"""Dispatching rules: the jobs in an order that a rule gives, each as soon as there is room.

First come first served is the order of releases. Shortest first (W. Smith, Naval Research Logistics
Quarterly 3, 1956, for one machine), also by weight, and earliest due first (J. Jackson, 1955) are
the classics for completions and for tardiness. A moldable job takes the size of least area.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from rarmodel import registry
from rarmodel.engine.arrays import NEVER
from rarmodel.errors import InputError
from rarmodel.limits import Limits
from rarmodel.methods import Attempt, is_number, order_of
from rarmodel.model import horizon_of
from rarmodel.model.extremes import job_extremes
from rarmodel.model.features import UNINTERRUPTED
from rarmodel.model.part import part_of
from rarmodel.schema import Instance

from .list_schedules import ListSchedules

Key = Callable[[Instance, int], float]
"""Urgency of a job, by index: the least is the most urgent."""


@dataclass(frozen=True)
class Rule(registry.Part):
    """A dispatching rule as a method.

    Attributes
    ----------
    name
        Its name for `--method`.
    description
        What it does, in a line.
    key
        Urgency of a job; equal ones go by release, then in input order.
    handles
        Features that it handles.
    """

    kind = "methods"

    name: str
    description: str
    key: Key
    handles: frozenset[str] = UNINTERRUPTED

    def order(self, instance: Instance) -> list[int]:
        """The jobs by urgency, as indices."""
        jobs = instance.jobs
        with registry.calling("methods", self):
            keys = [self.key(instance, j) for j in range(len(jobs))]
        for key in keys:
            if not is_number(key):
                raise registry.nonsense("methods", self, key, "a number by which jobs are sorted")
        return sorted(range(len(jobs)), key=lambda j: (keys[j], max(0, jobs[j].release), j))

    def prepare(self, instance: Instance) -> None:
        """Compile what the rule needs, so that this does not count as its time."""
        with suppress(InputError):  # Of the part only: then the whole compiles.
            ListSchedules(part_of(instance)).made([0])

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """The list schedule of the rule's order."""
        lists = ListSchedules(instance)
        jobs, what = instance.jobs, f"the order of method {self.name!r}"
        order = order_of(self.order(instance), len(jobs), lambda j: jobs[j].name, what)
        if not lists.made(order):
            return Attempt(None, "in this order, some job can never start or complete in time")
        schedule = lists.schedule(self.name)
        if int(lists.partial.state.rings["finish"].max()) > horizon_of(instance):
            return Attempt(None, "no schedule found within the horizon")
        return Attempt(schedule, "finished")


def _slots(instance: Instance, job: int) -> int:
    return job_extremes(instance)[job].least_slots


first_come_first_served = Rule(
    "fifo-backfill", "jobs by release, each as soon as there is room", lambda instance, job: 0
)
shortest_first = Rule("shortest-first", "jobs of least execution time first", _slots)
weighted_shortest_first = Rule(
    "weighted-shortest-first",
    "jobs of least GPU slots per weight first",
    lambda instance, job: (
        min(instance.jobs[job].sizes) * _slots(instance, job) / instance.jobs[job].weight
    ),
)
earliest_due_first = Rule(
    "earliest-due-first",
    "jobs by due slot, those without one last",
    lambda instance, job: NEVER if (due := instance.jobs[job].due) is None else due,
)
