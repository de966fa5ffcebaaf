"""The account of an import: every row of a trace was used, or left out for a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

EXAMPLES = 5
"""Most rows of each kind that are named."""


@dataclass(frozen=True)
class Group:
    """Rows with the same reason or note.

    Attributes
    ----------
    reason
        The reason or the note.
    rows
        Number of rows.
    examples
        Lines of the first of these rows in the file.
    """

    reason: str
    rows: int
    examples: tuple[int, ...]


@dataclass(frozen=True)
class Account:
    """The account of an import.

    Attributes
    ----------
    source, format
        The file, and its format.
    rows
        Rows read: all lines but blank ones and the header.
    used
        Rows that became jobs.
    left_out
        Rows that did not become jobs, by reason. Used and left-out rows are all rows.
    notes
        Assumptions about the rows used: models, durations and so on.
    gpu_hours_recorded
        GPUs times recorded duration of the rows used, in hours.
    gpu_hours
        GPUs times least execution time of the jobs, in hours; it differs by the rounding to slots.
    kept
        What the instance keeps of times, tenants, types of GPU and partitions, and what it does
        not, a line each.
    """

    source: str
    format: str
    rows: int
    used: int
    left_out: tuple[Group, ...]
    notes: tuple[Group, ...]
    gpu_hours_recorded: float
    gpu_hours: float
    kept: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any]:
        """The account as plain data."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The account as lines of text."""
        left_out = self.rows - self.used
        rows = f"{counted(self.rows, 'row')}, {self.used} used, {left_out} left out"
        return [
            f"{self.source}: format {self.format}, {rows}",
            *(f"left out: {_told(group)}" for group in self.left_out),
            *(f"note: {_told(group)}" for group in self.notes),
            *self.kept,
            f"GPU hours: {self.gpu_hours_recorded:.1f} recorded, {self.gpu_hours:.1f} in slots",
        ]


def grouped(lines: Mapping[str, Sequence[int]]) -> tuple[Group, ...]:
    """Groups from the lines of each reason, the most frequent first."""
    groups = [
        Group(reason, len(found), tuple(sorted(found)[:EXAMPLES]))
        for reason, found in lines.items()
        if found
    ]
    return tuple(sorted(groups, key=lambda group: -group.rows))


def told(groups: Sequence[Group]) -> str:
    """Groups in one line."""
    return "; ".join(map(_told, groups))


def _told(group: Group) -> str:
    more = ", …" if group.rows > len(group.examples) else ""
    word = "line" if group.rows == 1 else "lines"
    shown = ", ".join(map(str, group.examples))
    return f"{counted(group.rows, 'row')}: {group.reason} ({word} {shown}{more})"


def counted(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
