"""What jobs of wider instances ask of time: releases, due slots, deadlines, and running already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance

from .drawing import Drawing, Drawn

MOST_MARKED = 24
"""With more jobs than this, marks are on the edge of a chart and not beside the jobs."""
MOST_TICKS = 500
"""Most marks on the edge of a chart."""
RELEASE, DUE, DEADLINE = "release", "due", "deadline"
NAMES = {RELEASE: "release", DUE: "due slot", DEADLINE: "deadline"}


class Moment(NamedTuple):
    """A slot that a job asks for.

    Attributes
    ----------
    kind
        RELEASE, DUE or DEADLINE.
    slot
        The slot.
    run
        Index of the job's run in `Drawing.runs`.
    """

    kind: str
    slot: int
    run: int


class Part(NamedTuple):
    """A part of a bar: past the due slot of its job, or in which the job is restored.

    Attributes
    ----------
    bar
        Index in `Drawing.bars`.
    start, end
        In slots.
    """

    bar: int
    start: float
    end: float


def waits(instance: Instance) -> bool:
    """Whether flow times say more than completion times, or are what is asked for."""
    asked = any(job.release != 0 or job.due is not None for job in instance.jobs)
    return asked or set(instance.objectives) != {MAKESPAN.name}


def moments_of(drawing: Drawing) -> Iterator[Moment]:
    """Releases after slot 0, due slots and deadlines of the jobs that are drawn."""
    for i, run in enumerate(drawing.runs):
        job = drawing.job_of(run)
        if job is None:
            continue
        if job.release > 0 and not run.segment:
            yield Moment(RELEASE, job.release, i)
        if drawing.goes_on(i):
            continue
        if job.due is not None:
            yield Moment(DUE, job.due, i)
        if job.deadline is not None:
            yield Moment(DEADLINE, job.deadline, i)


class Shown(NamedTuple):
    """What the charts of some schedules show of wider instances, for their legend.

    Attributes
    ----------
    away
        Whether GPUs are reserved.
    late
        Whether a job runs past its due slot.
    restored
        Whether a job is restored.
    running
        Whether a job runs at slot 0 already.
    kinds
        The kinds of moments that lie on the axes.
    beside
        Whether these have marks beside their jobs, and not on the edge.
    """

    away: bool
    late: bool
    restored: bool
    running: bool
    kinds: tuple[str, ...]
    beside: bool


def shown_in(drawings: Sequence[Drawing], *, large: bool) -> Shown:
    """What the charts of schedules show, with servers as rows if `large`."""
    end = max(drawing.end for drawing in drawings)
    moments = (one for drawing in drawings for one in moments_of(drawing))
    kinds = {one.kind for one in moments if 0 <= one.slot <= end}
    return Shown(
        away=any(area.start < end for drawing in drawings for area in drawing.away),
        late=any(late_parts(drawing, drawing.end) for drawing in drawings),
        restored=any(run.restored > run.start for one in drawings for run in one.runs),
        running=any(ran_before(drawing, run) for drawing in drawings for run in drawing.runs),
        kinds=tuple(kind for kind in NAMES if kind in kinds),
        beside=not large and few(drawings[0]),
    )


def restored_parts(drawing: Drawing) -> list[Part]:
    """The parts of bars in which jobs are restored."""
    found = []
    for i, bar in enumerate(drawing.bars):
        run = drawing.runs[bar.run]
        if run.restored > run.start:
            found.append(Part(i, run.start, run.restored))
    return found


def late_parts(drawing: Drawing, end: int) -> list[Part]:
    """The parts of bars past due slots, in a plot of `end` slots."""
    found = []
    for i, bar in enumerate(drawing.bars):
        run = drawing.runs[bar.run]
        job = drawing.job_of(run)
        if job is not None and job.due is not None and run.carried_out:
            until = drawing.shown_until(run, end)
            if until > job.due:
                found.append(Part(i, max(run.start, job.due), until))
    return found


def ran_before(drawing: Drawing, run: Drawn) -> bool:
    """Whether a job runs at slot 0 already."""
    job = drawing.job_of(run)
    begins = job is not None and job.running is not None and run.start == 0
    return begins and run.restored == 0


def asked_for(drawing: Drawing, run: Drawn) -> str:
    """What a job asks of time, and how it is kept, in words; empty if it asks for nothing."""
    job = drawing.job_of(run)
    if job is None:
        return ""
    found = []
    if job.running is not None and not run.segment:
        found.append("runs at slot 0 already")
    if run.segment:
        found.append(f"segment {run.segment + 1}")
    if run.restored > run.start:
        found.append(f"restored until slot {run.restored:,}")
    if job.release != 0 and not run.segment:
        waited = max(0, run.start - max(0, job.release))
        found.append(f"released at {job.release:,}" + (f", waited {waited:,}" if waited else ""))
    for name, slot in (("due", job.due), ("deadline", job.deadline)):
        if slot is not None:
            late = f", {run.end - slot:,} late" if run.end is not None and run.end > slot else ""
            found.append(f"{name} at {slot:,}{late}")
    return "; ".join(found)


def few(drawing: Drawing) -> bool:
    """Whether jobs are so few that each has its own marks."""
    return len(drawing.instance.jobs) <= MOST_MARKED


def ticks_of(drawing: Drawing, kind: str, end: int) -> list[int]:
    """Slots of all moments of a kind, ascending, each once; of many, some in each part of time."""
    slots = sorted({one.slot for one in moments_of(drawing) if one.kind == kind})
    shown = [slot for slot in slots if 0 <= slot <= end]
    if len(shown) <= MOST_TICKS:
        return shown
    return sorted({slot * MOST_TICKS // end: slot for slot in shown}.values())
