"""The standing of a campaign's methods in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.counting import counted
from rarmodel.model.objectives import MAKESPAN

from .finding import LETTERS, Finding
from .summaries import MethodRow
from .words import joined, percent, shortened

MOST = 3
"""Most methods that a sentence names."""


def standing(rows: Sequence[MethodRow], objective: str = MAKESPAN.name) -> Finding:
    """The method that most often has the least value, and how far the others are behind.

    Parameters
    ----------
    rows
        One row per method of a campaign.
    objective
        Name of the objective.
    """
    solved = [row for row in rows if row.solved]
    failed = sum(row.failed for row in rows)
    failures = f"{counted(failed, 'run')} failed." if failed else ""
    if not solved:
        return Finding("No run has a schedule.", failures)
    if len(rows) == 1:
        first = rows[0]
        lead = f"{_name(first)} has a schedule in {_of(first.solved, first.runs)}."
        return Finding(lead, " ".join(filter(None, [*_proven(first), failures])))
    ranked = sorted(solved, key=lambda row: (-_share(row), row.ratio.median or 0))
    first = ranked[0]
    best = [row for row in ranked if _share(row) == _share(first)]
    names = joined([_name(row) for row in best]) if len(best) <= MOST else f"{len(best)} methods"
    if len(best) == 1:
        lead = f"{names} has the least {objective} in {_of(first.best, first.runs)}."
    elif _share(first) == 1:
        lead = f"{names} have the least {objective} in all of their runs."
    else:
        lead = (
            f"{names} have the least {objective} equally often, "
            f"in {_share(first):.0%} of their runs."
        )
    detail = [*_behind(ranked, objective), *(_proven(first) if len(best) == 1 else []), failures]
    return Finding(lead, " ".join(filter(None, detail)))


def _behind(ranked: Sequence[MethodRow], objective: str) -> list[str]:
    """How far the others are above the least value; longer, if it is the makespan."""
    longer = [(row, above) for row in ranked if (above := (row.ratio.median or 1) - 1) > 0]
    if not longer:
        return []
    (first, above), *more = longer[:MOST]
    verb, how = ("takes", "longer than") if objective == MAKESPAN.name else ("is", "above")
    parts = [f"{_name(first)} {verb} {percent(above)} {how} the least"]
    parts += [f"{_name(row)} {percent(above)}" for row, above in more]
    if rest := longer[MOST:]:
        others = "another method" if len(rest) == 1 else f"{len(rest)} other methods"
        parts.append(f"{others} {percent(min(above for _, above in rest))} or more")
    return [f"In the median, {joined(parts)}."]


def _proven(row: MethodRow) -> list[str]:
    """The proofs about a method's runs."""
    found = []
    if row.optimal:
        found.append(f"{_name(row)} is proven optimal in {_of(row.optimal, row.runs)}.")
    if row.gap.median:
        limit = percent(row.gap.median, up=True)
        found.append(f"In the median, {_name(row)} is at most {limit} from optimal.")
    return found


def _share(row: MethodRow) -> float:
    """Share of the runs that have the least value of their instance."""
    return row.best / row.runs


def _name(row: MethodRow) -> str:
    return shortened(row.method, LETTERS)


def _of(part: int, whole: int) -> str:
    """A number of runs out of all."""
    if part == whole:
        return "its only run" if whole == 1 else f"all of its {whole:,} runs"
    return f"{part:,} of its {whole:,} runs"
