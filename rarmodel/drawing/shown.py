"""The schedules that charts show side by side, and what all of their charts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rarmodel.schema import Instance, SlotTime

from .aims import Aim, aims_of, asks_for_length, on_length, values_told
from .comparison import ends_of
from .drawing import Drawing
from .grids import is_large, ring_scale
from .words import counted, shortened

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
    """

    drawings: Sequence[Drawing]
    aims: tuple[Aim, ...] | None = None

    @classmethod
    def of(cls, drawings: Sequence[Drawing], *, bound: bool = True) -> Shown:
        """Schedules with what is known of their objectives, if `bound`."""
        return cls(drawings, aims_of(drawings) if bound else None)

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
