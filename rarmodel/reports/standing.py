"""How the methods of a campaign stand, in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence

from .comparison import shortened
from .finding import LETTERS, Finding, percent
from .runs import MethodRow


def standing(rows: Sequence[MethodRow]) -> Finding:
    """Which method most often has the least makespan, and how far behind it the others are.

    Parameters
    ----------
    rows
        A row for each method of a campaign.
    """
    solved = [row for row in rows if row.solved]
    if not solved:
        return Finding("No run has a schedule.", _failures(rows))
    ranked = sorted(solved, key=lambda row: (-row.best / row.runs, row.ratio.median or 0))
    first, *others = ranked
    name = shortened(first.method, LETTERS)
    detail = []
    if len(rows) == 1:
        lead = f"{name} has a schedule in {_of(first.solved, first.runs)}."
    else:
        lead = f"{name} has the least makespan in {_of(first.best, first.runs)}"
        lead += _beside(others[0], first) if others else "; no other method has a schedule."
        if behind := [text for row in others if (text := _behind(row))]:
            more = f", and {len(behind) - 3} more methods" if len(behind) > 3 else ""
            detail.append(f"In the median, {'; '.join(behind[:3])}{more} above the least.")
    if first.optimal:
        detail.append(f"{name} is proven optimal in {_of(first.optimal, first.runs)}.")
    if first.gap.median:
        at_most = f"at most {percent(first.gap.median, up=True)} from optimal"
        detail.append(f"In the median, {name} is {at_most}.")
    return Finding(lead, " ".join([*detail, _failures(rows)]).strip())


def _beside(other: MethodRow, first: MethodRow) -> str:
    """The end of the first sentence: the next method."""
    same = other.best / other.runs == first.best / first.runs
    name = shortened(other.method, LETTERS)
    number = _of(other.best, other.runs)
    return f", as {name} has in {number}." if same else f"; {name}, the next, in {number}."


def _behind(row: MethodRow) -> str:
    """How far a method is above the least makespan of an instance."""
    above = (row.ratio.median or 1) - 1
    return f"{shortened(row.method, LETTERS)} is {percent(above)}" if above > 0 else ""


def _failures(rows: Sequence[MethodRow]) -> str:
    """What did not end with a schedule."""
    failed = sum(row.failed for row in rows)
    return f"{failed:,} run{'' if failed == 1 else 's'} failed." if failed else ""


def _of(part: int, all_: int) -> str:
    """A number of runs out of all."""
    if part == all_:
        return "its only run" if all_ == 1 else f"all of its {all_:,} runs"
    return f"{part:,} of its {all_:,} run{'' if all_ == 1 else 's'}"
