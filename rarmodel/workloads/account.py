"""The account of an import: every row of a trace was used, or left out for a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rarmodel.counting import counted

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
        Lines of the first of these rows in the file; of JSON the numbers of entries, from 1.
    gpu_hours
        GPU hours of rows that were left out, as far as the file has them.
    """

    reason: str
    rows: int
    examples: tuple[int, ...]
    gpu_hours: float = 0.0


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
        GPUs times least execution time of the jobs, in hours. It differs by the rounding to slots,
        and by the network if the trace was measured on another.
    gpu_hours_measured
        The same on the network on which the trace was measured; None if that is the instance's.
    findings
        Numbers of the trace that its units can hardly mean, a line each.
    noun
        Word for the place of a row: `line`, or `entry` for JSON.
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
    noun: str = "line"
    kept: tuple[str, ...] = ()
    gpu_hours_measured: float | None = None
    findings: tuple[str, ...] = ()

    @property
    def gpu_hours_left_out(self) -> float:
        """GPU hours of the rows left out; with those recorded, all that the file has."""
        return sum(group.gpu_hours for group in self.left_out)

    def summary(self) -> dict[str, Any]:
        """The account as plain data."""
        return {**asdict(self), "gpu_hours_left_out": self.gpu_hours_left_out}

    def lines(self) -> list[str]:
        """The account as lines of text."""
        left_out = self.rows - self.used
        rows = f"{counted(self.rows, 'row')}, {self.used} used, {left_out} left out"
        return [
            f"{self.source}: format {self.format}, {rows}",
            *(f"check: {finding}" for finding in self.findings),
            *(f"left out: {_told(group, self.noun)}" for group in self.left_out),
            *(f"note: {_told(group, self.noun)}" for group in self.notes),
            *self.kept,
            self._hours(),
        ]

    def _hours(self) -> str:
        """The line of GPU hours."""
        used = f"{self.gpu_hours_recorded:.1f} recorded"
        if self.gpu_hours_measured is not None:
            used += f", {self.gpu_hours_measured:.1f} in slots of the network measured"
            used += f", {self.gpu_hours:.1f} on the instance's"
        else:
            used += f", {self.gpu_hours:.1f} in slots"
        others = f"; {self.gpu_hours_left_out:.1f} left out" if self.gpu_hours_left_out else ""
        return f"GPU hours: {used}{others}"


def grouped(
    lines: Mapping[str, Sequence[int]], gpu_hours: Mapping[str, float] | None = None
) -> tuple[Group, ...]:
    """Groups from the lines of each reason, the most frequent first.

    Parameters
    ----------
    lines
        Lines of the rows by reason.
    gpu_hours
        GPU hours of the rows of each reason, if they are known.
    """
    hours = gpu_hours or {}
    groups = [
        Group(reason, len(found), tuple(sorted(found)[:EXAMPLES]), hours.get(reason, 0.0))
        for reason, found in lines.items()
        if found
    ]
    return tuple(sorted(groups, key=lambda group: -group.rows))


def told(groups: Sequence[Group], noun: str) -> str:
    """Groups in one line, with this word for the place of a row."""
    return "; ".join(_told(group, noun) for group in groups)


def _told(group: Group, noun: str) -> str:
    more = ", …" if group.rows > len(group.examples) else ""
    several = {"line": "lines", "entry": "entries"}[noun]
    word = noun if group.rows == 1 else several
    shown = ", ".join(map(str, group.examples))
    hours = f", {group.gpu_hours:.1f} GPU hours" if group.gpu_hours else ""
    return f"{counted(group.rows, 'row')}: {group.reason} ({word} {shown}{more}){hours}"
