"""The finding of a comparison in a sentence or two: the first text that a reader sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.bounds import relative_gap
from rarmodel.counting import counted
from rarmodel.model import job_extremes
from rarmodel.model.objectives import MAKESPAN, SLOTS, in_digits, ties_of
from rarmodel.schema import SlotTime

from .drawing import Drawing
from .objective_values import Aim, ranked
from .words import joined, percent, shortened

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


def finding_of(drawings: Sequence[Drawing], aims: Sequence[Aim]) -> Finding:
    """The best schedule, by how much it is better, and how far it can be from optimal.

    Parameters
    ----------
    drawings
        Schedules of one instance, at least one; only valid ones are compared.
    aims
        The objectives, with the values of these schedules.
    """
    order = ranked(aims)
    refused = [drawing for drawing in drawings if not drawing.report.feasible]
    if not order:
        return _nothing_valid(refused)
    first, best, time = aims[0], order[0], drawings[0].instance.time
    names = [_name(drawing) for drawing in drawings]
    by_length = first.objective is MAKESPAN
    detail = []
    if len(order) == 1:
        lead = f"{names[best]} is {_distance(aims, best)}."
        if by_length:
            detail = [f"It takes {_told(first, best, time)}.", _last(drawings[best])]
    else:
        lead, numbers = _compared(names, aims, order, drawings)
        detail = [numbers]
    if by_length:
        detail.append(_proof(first, best))
    detail += [_values(names, aim, order, time) for aim in (aims[1:] if by_length else aims)]
    if refused:
        listed = joined([_name(drawing) for drawing in refused])
        detail.append(f"Not compared, because constraints are broken: {listed}.")
    return Finding(lead, " ".join(filter(None, detail)))


def _compared(
    names: Sequence[str], aims: Sequence[Aim], order: Sequence[int], drawings: Sequence[Drawing]
) -> tuple[str, str]:
    """The best of several schedules: its lead, and numbers."""
    by_length, time = aims[0].objective is MAKESPAN, drawings[0].instance.time
    most, takes = ("shortest", "takes") if by_length else ("best", "is")
    by = "" if by_length else f" by {', then '.join(aim.name for aim in aims)}"
    best = [i for i in order if _same(aims, i, order[0])]
    others = order[len(best) :]
    found = joined([names[i] for i in best])
    far = f", and {_distance(aims, best[0], aims[0])}{_tie(names, best, drawings)}."
    length = _told(aims[0], best[0], time)
    if not others:
        all_ = found if len(best) <= 3 else f"all {len(best)} schedules"
        equally = f"{all_} are equally {'short' if by_length else 'good'}{by}{far}"
        return equally, f"Each takes {length}." if by_length else ""
    nearer = _better(names, aims, best[0], others[0])
    if len(order) == 2:
        told = f"{found} takes {length}, {names[others[0]]} {_told(aims[0], others[0], time)}."
        said = _deciding(aims, best[0], others[0])
        lead = f"{found} is {nearer}, and {_distance(aims, best[0], said)}."
        return lead, told if by_length else ""
    if len(best) > 1:
        takes = "take" if by_length else "are"
    numbers = f"{'It' if len(best) == 1 else 'They'} {takes} {f'{length}: ' if by_length else ''}"
    numbers += f"{nearer}, the next"
    if not _same(aims, others[-1], others[0]):
        numbers += f", and {_better(names, aims, best[0], others[-1])}"
        numbers += f", the {'longest' if by_length else 'worst'}"
    if len(best) > 3:
        return f"{len(best)} of {len(order)} schedules are the {most}{by}{far}", f"{numbers}."
    verb = "is" if len(best) == 1 else "are"
    return f"{found} {verb} the {most} of {len(order)} schedules{by}{far}", f"{numbers}."


def _better(names: Sequence[str], aims: Sequence[Aim], best: int, other: int) -> str:
    """How much better a schedule is, by the first objective in which it differs from another."""
    aim = _deciding(aims, best, other)
    value, worse = aim.values[best] or 0, aim.values[other] or 0
    # All is better than nothing by any part: the values say more.
    part = f"{percent(relative_gap(worse, value))} " if value > 0 else ""
    if aim.objective is MAKESPAN:
        return f"{part}shorter than {names[other]}"
    return f"{part}better than {names[other]} by {aim.name}"


def _tie(names: Sequence[str], best: Sequence[int], drawings: Sequence[Drawing]) -> str:
    """Which of the best schedules is better in what decides between equal ones, as a clause."""
    values = {i: drawings[i].report.ties or {} for i in best}
    for tie in ties_of(drawings[0].instance):
        known = {i: values[i][tie.name] for i in best if tie.name in values[i]}
        if len(known) < len(best) or len({*known.values()}) == 1:
            continue
        least, *more = sorted({*known.values()})
        found = [names[i] for i in best if known[i] == least]
        of_these = joined(found) if len(found) <= 3 else f"{len(found)} of them"
        has = "has" if len(found) == 1 else "have"
        numbers = f"{in_digits(least)} against {in_digits(more[0])} {tie.unit}"
        return f"; {of_these} {has} the least {tie.name}, {numbers}"
    return ""


def _deciding(aims: Sequence[Aim], one: int, other: int) -> Aim:
    """The most important objective in which two schedules differ."""
    return next(aim for aim in aims if aim.values[one] != aim.values[other])


def _values(names: Sequence[str], aim: Aim, order: Sequence[int], time: SlotTime) -> str:
    """The values of an objective, and what is proven of it."""
    best = order[0]
    found = _told(aim, best, time)
    if len(order) > 1:
        if len(set(aim.known)) == 1:
            found += " each"
        elif len(order) <= 3:
            told = [_told(aim, i, time, unit=i == order[-1]) for i in order]
            found = ", ".join(f"{names[i]} {one}" for i, one in zip(order, told, strict=True))
        else:
            others = [i for i in order if aim.values[i] != aim.values[best]]
            ends = [pick(others, key=lambda i: aim.values[i] or 0) for pick in (min, max)]
            low, high = _told(aim, ends[0], time, unit=False), _told(aim, ends[1], time)
            span = high if aim.values[ends[0]] == aim.values[ends[1]] else f"{low} to {high}"
            found = f"{names[best]} {_told(aim, best, time, unit=False)}, others {span}"
    bound = shortened(aim.bound.name, LETTERS)
    least = aim.objective.told(aim.bound.value, time)
    nothing_less = aim.values[best] if aim.condition else aim.least
    than = "" if nothing_less == aim.bound.value else f" than {least}"
    which = f" {aim.condition}" if aim.condition else ""
    return f"{aim.name}: {found}; no schedule{which} has less{than} (bound: {bound})."


def _nothing_valid(refused: Sequence[Drawing]) -> Finding:
    """The finding if no schedule is valid: the problem of the first."""
    first = refused[0]
    violations = first.report.violations
    if len(refused) > 1:
        lead = f"None of the {len(refused)} schedules is valid."
    else:
        lead = f"{_name(first)} is not valid: {counted(len(violations), 'violation')}."
    return Finding(lead, f"The first: {violations[0].message}." if violations else "")


def _distance(aims: Sequence[Aim], schedule: int, said: Aim | None = None) -> str:
    """How far a schedule can be from optimal.

    Parameters
    ----------
    aims
        The objectives.
    schedule
        The schedule, by index.
    said
        The objective of which the sentence has spoken.
    """
    open_ = next((aim for aim in aims if (aim.gap(schedule) or 0) > 0), None)
    if open_ is None:
        silent = said is not None or aims[0].objective is MAKESPAN
        return "optimal" + ("" if silent else f" by {joined([aim.name for aim in aims])}")
    limit = f"at most {percent(open_.gap(schedule) or 0, up=True)} from optimal"
    if open_ is said or (said is None and open_.objective is MAKESPAN):
        return limit
    return f"{limit} by {open_.name}"


def _proof(aim: Aim, schedule: int) -> str:
    """The proof of the bound on the makespan."""
    name = shortened(aim.bound.name, LETTERS)
    if (aim.gap(schedule) or 0) > 0:
        least = counted(int(aim.bound.value), "slot")
        return f"No schedule is shorter than {least} (bound: {name})."
    return f"No schedule is shorter (bound: {name})."


def _last(drawing: Drawing) -> str:
    """The job that ends last, its start, and whether contention or its placement delays it."""
    last = max(drawing.whole, key=lambda run: run.end or 0)
    takes = (last.end or 0) - last.start
    least = job_extremes(drawing.instance)[drawing.numbers[last.job]].least_slots
    when = "from the start" if last.start <= 0 else f"from slot {last.start:,}"
    beside = "as long as alone" if takes <= least else f"alone it takes {least:,}"
    name, length = shortened(last.job, LETTERS), counted(takes, "slot")
    return f"{name} ends last: it runs {when} for {length}, {beside}."


def _told(aim: Aim, schedule: int, time: SlotTime, *, unit: bool = True) -> str:
    """The value of a schedule in words, with or without a unit that a later value names."""
    value = aim.values[schedule] or 0
    if unit or aim.objective.unit == SLOTS:
        return aim.objective.told(value, time)
    return in_digits(value)


def _same(aims: Sequence[Aim], one: int, other: int) -> bool:
    """Whether two schedules have the same values."""
    return all(aim.values[one] == aim.values[other] for aim in aims)


def _name(drawing: Drawing) -> str:
    return shortened(drawing.label, LETTERS)
