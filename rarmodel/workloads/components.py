"""Join the components of a heterogeneous job, each of which has a row: they start together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rarmodel.counting import counted

from .trace_format import TraceJob

_OTHER = "a component of a heterogeneous job, which counts with its first"


def joined(
    jobs: Sequence[tuple[int, TraceJob]], copies: Collection[int]
) -> tuple[tuple[int, TraceJob], ...]:
    """The same rows; the first component of each job is the job, and the others are no jobs.

    Parameters
    ----------
    jobs
        Line and content of each row.
    copies
        Lines of rows that equal an earlier one: they are components of nothing.
    """
    components: dict[str, list[TraceJob]] = {}
    for line, job in jobs:
        if job.whole and line not in copies:
            components.setdefault(job.whole, []).append(job)
    if not components:
        return tuple(jobs)
    rows = list[tuple[int, TraceJob]]()
    taken = set[str]()
    for line, job in jobs:
        if not job.whole or line in copies:
            rows.append((line, job))
        elif job.whole not in taken:
            taken.add(job.whole)
            rows.append((line, _one(components[job.whole])))
        else:
            empty = TraceJob(job.name, None, job.submit, None, group=job.group, unusable=_OTHER)
            rows.append((line, empty))
    return tuple(rows)


def _one(parts: Sequence[TraceJob]) -> TraceJob:
    """The job of these components: their GPUs together, for as many GPU hours."""
    first = parts[0]
    gpus = None if any(part.gpus is None for part in parts) else sum(p.gpus or 0 for p in parts)
    known = [part.seconds for part in parts if part.seconds is not None]
    seconds = max(known, default=None)
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    if len(parts) > 1:
        notes[f"{counted(len(parts), 'component')} of a heterogeneous job are one job"] = None
    if gpus and len(known) == len(parts):
        seconds = sum((part.gpus or 0) * (part.seconds or 0) for part in parts) / gpus
        if len(set(known)) > 1:
            notes["components of different durations; their mean by GPUs is used"] = None
    holding = [part for part in parts if part.gpus] or [first]
    types = dict.fromkeys(kind for part in holding for kind in part.gpu_types)
    if len({part.gpu_types for part in holding}) > 1:
        notes["components on different types of GPU; it may use any of these"] = None
    partitions = dict.fromkeys(part.partition for part in holding)
    licences: dict[str, int] = {}
    for part in parts:
        for name, number in part.licences:
            licences[name] = licences.get(name, 0) + number
    return first._replace(
        name=first.whole if len(parts) > 1 else first.name,
        gpus=gpus,
        seconds=seconds,
        submit=min((p.submit for p in parts if p.submit), default=None),
        start=min((p.start for p in parts if p.start), default=None),
        unusable=next((part.unusable for part in parts if part.unusable), ""),
        gpu_types=tuple(types),
        # The servers of several partitions, as of a job that names them all.
        partition=",".join(filter(None, partitions)),
        licences=tuple(sorted(licences.items())),
        notes=tuple(notes),
        whole="",
    )
