"""The schedules that charts show side by side, and what all of their charts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rarmodel import registry
from rarmodel.counting import counted
from rarmodel.errors import UsageError
from rarmodel.schema import Instance, SlotTime

from .colours import BY, SIZE, TENANT, Colouring, colouring, colouring_by_tenant
from .drawing import Drawing
from .grids import is_large, ring_scale
from .objective_values import Aim, aims_of, asks_for_length, on_length, values_told
from .side_by_side import ends_of
from .words import shortened

LETTERS = 70
"""Longest name of a schedule in the title of a chart."""


@dataclass(frozen=True)
class Shown:
    """Schedules of one instance, in the order in which they stand.

    Attributes
    ----------
    drawings
        At least one.
    aims
        The objectives, with what is proven; None if charts say nothing of that.
    colour
        What the colour of a job says: its `size`, or its `tenant`.
    """

    drawings: Sequence[Drawing]
    aims: tuple[Aim, ...] | None = None
    colour: str = SIZE

    @classmethod
    def of(cls, drawings: Sequence[Drawing], *, bound: bool = True, colour: str = SIZE) -> Shown:
        """Schedules with what is known of their objectives, if `bound`.

        Raises
        ------
        UsageError
            If there is no such colour, or the jobs have no tenants.
        """
        if colour not in BY:
            hint = registry.meant(colour, BY)
            raise UsageError(f"no colour {colour!r}; choose from {', '.join(BY)}{hint}")
        if colour == TENANT and not any(job.tenant for job in drawings[0].instance.jobs):
            raise UsageError("no job of the instance has a tenant, so none has a colour of its own")
        return cls(drawings, aims_of(drawings) if bound else None, colour)

    @cached_property
    def colours(self) -> Colouring:
        """The colours of the jobs."""
        by_tenant = self.colour == TENANT
        return colouring_by_tenant(self.instance) if by_tenant else colouring(self.instance)

    @property
    def instance(self) -> Instance:
        """The problem."""
        return self.drawings[0].instance

    @property
    def time(self) -> SlotTime:
        """The length of slots."""
        return self.instance.time

    @cached_property
    def large(self) -> bool:
        """Whether servers have rows, and not their GPUs."""
        return is_large(self.drawings)

    @cached_property
    def scale(self) -> int:
        """The number of rings with the darkest colour."""
        return ring_scale(self.drawings)

    @cached_property
    def ends(self) -> list[int]:
        """The end of each schedule's axis of time."""
        return ends_of(self.drawings)

    @cached_property
    def end(self) -> int:
        """The end of the axis that valid schedules share; of the longest if none is valid."""
        valid = any(drawing.report.feasible for drawing in self.drawings)
        return min(self.ends) if valid else max(self.ends)

    @property
    def alone(self) -> list[int]:
        """The schedules that break constraints and last longer: each has an axis of its own."""
        return [i for i, end in enumerate(self.ends) if end != self.end]

    @property
    def length(self) -> Aim | None:
        """The makespan, if it is an objective and its bound is known."""
        return None if self.aims is None else on_length(self.aims)

    @property
    def marks_length(self) -> bool:
        """Whether charts mark the makespan."""
        return asks_for_length(self.drawings[0])

    @property
    def labels(self) -> list[str]:
        """Names of the schedules."""
        return [drawing.label for drawing in self.drawings]

    def titles(self, what: str = "") -> list[str]:
        """A title for the chart of each schedule: its name and values, or its name and a part."""
        return [
            f"{shortened(one.label, LETTERS)}: {what or self._verdict(i)}"
            for i, one in enumerate(self.drawings)
        ]

    def _verdict(self, i: int) -> str:
        drawing = self.drawings[i]
        if not drawing.report.feasible:
            return f"invalid, {counted(len(drawing.report.violations), 'violation')}"
        return values_told(drawing)
