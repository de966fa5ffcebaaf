"""The finding of a comparison in a sentence or two: the first text that a reader sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.bounds import LowerBound, relative_gap
from rarmodel.duration import duration
from rarmodel.model import job_extremes
from rarmodel.schema import Instance

from .drawing import Drawing
from .words import counted, joined, percent, shortened

LETTERS = 40
"""Longest name in a sentence."""


class Finding(NamedTuple):
    """The finding.

    Attributes
    ----------
    lead
        The finding in one sentence.
    detail
        The numbers behind the finding, and its proof.
    """

    lead: str
    detail: str


def finding_of(drawings: Sequence[Drawing], bound: LowerBound) -> Finding:
    """The shortest schedule, by how much it is shorter, and how far it can be from optimal.

    Parameters
    ----------
    drawings
        Schedules of one instance, at least one; only valid ones are compared.
    bound
        The lower bound on the makespan.
    """
    valid = [
        (makespan, drawing)
        for drawing in drawings
        if drawing.report.feasible and (makespan := drawing.report.makespan) is not None
    ]
    refused = [drawing for drawing in drawings if not drawing.report.feasible]
    if not valid:
        return _nothing_valid(refused)
    instance = drawings[0].instance
    least = min(makespan for makespan, _ in valid)
    distance = _distance(least, bound)
    if len(valid) == 1:
        lead = f"{_name(valid[0][1])} is {distance}."
        detail = [f"It takes {_slots(instance, least)}.", _last(valid[0][1])]
    else:
        lead, numbers = _compared(instance, valid, least)
        lead = f"{lead}, and {distance}."
        detail = [numbers]
    detail.append(_proof(least, bound))
    if refused:
        names = joined([_name(drawing) for drawing in refused])
        detail.append(f"Not compared, because constraints are broken: {names}.")
    return Finding(lead, " ".join(filter(None, detail)))


def _compared(
    instance: Instance, valid: Sequence[tuple[int, Drawing]], least: int
) -> tuple[str, str]:
    """The shortest of several schedules: its lead, without a full stop, and the numbers."""
    best = [_name(drawing) for makespan, drawing in valid if makespan == least]
    others = sorted((pair for pair in valid if pair[0] > least), key=lambda pair: pair[0])
    shortest = joined(best) if len(best) <= 3 else f"{len(best)} of {len(valid)} schedules"
    length = _slots(instance, least)
    if not others:
        all_ = shortest if len(best) <= 3 else f"all {len(best)} schedules"
        return f"{all_} are equally short", f"Each takes {length}."
    (next_makespan, next_one), (longest_makespan, longest) = others[0], others[-1]
    nearer = f"{_saved(least, next_makespan)} shorter than {_name(next_one)}"
    if len(valid) == 2:
        numbers = f"{shortest} takes {length}, {_name(next_one)} {_slots(instance, next_makespan)}."
        return f"{shortest} is {nearer}", numbers
    numbers = f"{'It takes' if len(best) == 1 else 'They take'} {length}: {nearer}, the next"
    if longest_makespan > next_makespan:
        numbers += f", and {_saved(least, longest_makespan)} shorter than {_name(longest)}"
        numbers += ", the longest"
    if len(best) > 3:
        return f"{shortest} are the shortest", f"{numbers}."
    verb = "is" if len(best) == 1 else "are"
    return f"{shortest} {verb} the shortest of {len(valid)} schedules", f"{numbers}."


def _nothing_valid(refused: Sequence[Drawing]) -> Finding:
    """The finding if no schedule is valid: the problem of the first."""
    first = refused[0]
    violations = first.report.violations
    if len(refused) > 1:
        lead = f"None of the {len(refused)} schedules is valid."
    else:
        lead = f"{_name(first)} is not valid: {counted(len(violations), 'violation')}."
    return Finding(lead, f"The first: {violations[0].message}." if violations else "")


def _distance(makespan: int, bound: LowerBound) -> str:
    """How far a schedule can be from optimal."""
    gap = relative_gap(makespan, bound.slots)
    return f"at most {percent(gap, up=True)} from optimal" if gap > 0 else "optimal"


def _proof(makespan: int, bound: LowerBound) -> str:
    """The proof of the bound."""
    name = shortened(bound.name, LETTERS)
    if relative_gap(makespan, bound.slots) > 0:
        return f"No schedule is shorter than {counted(bound.slots, 'slot')} (bound: {name})."
    return f"No schedule is shorter (bound: {name})."


def _last(drawing: Drawing) -> str:
    """The job that ends last, its start, and whether contention or its placement delays it."""
    last = max(drawing.runs, key=lambda run: run.end or 0)
    takes = (last.end or 0) - last.start
    least = job_extremes(drawing.instance)[drawing.numbers[last.job]].least_slots
    when = "from the start" if last.start <= 0 else f"from slot {last.start:,}"
    beside = "as long as alone" if takes <= least else f"alone it takes {least:,}"
    name, length = shortened(last.job, LETTERS), counted(takes, "slot")
    return f"{name} ends last: it runs {when} for {length}, {beside}."


def _saved(makespan: int, other: int) -> str:
    """How much shorter one makespan is than another."""
    return percent((other - makespan) / other)


def _slots(instance: Instance, slots: int) -> str:
    """Slots with their length."""
    return f"{counted(slots, 'slot')} ({duration(slots * instance.time.slot_seconds)})"


def _name(drawing: Drawing) -> str:
    return shortened(drawing.label, LETTERS)
