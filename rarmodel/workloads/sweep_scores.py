"""Tables of scores of a sweep by synchronous successive halving: a row for a trial in a rung.

Which trials are kept is given: those that have a row in the next rung. So a trial's row there waits
for all rows of the rung before.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rarmodel.errors import Problem
from rarmodel.schema.cluster import MAX_GPUS
from rarmodel.schema.problems import show

from .table_cells import CellError, Cells, duration, number, text, whole
from .trace_format import Format, Rung, TraceJob


def _job(cells: Cells) -> TraceJob:
    trial, rung, sweep = text(cells, "trial"), whole(cells, "rung"), text(cells, "sweep")
    if not trial:
        raise CellError("trial", "empty; the name of a trial is expected")
    if rung is None:
        raise CellError("rung", "empty; a whole number is expected, 0 for the first rung")
    _check_score(cells)
    gpus = number(cells, "gpus", MAX_GPUS)
    return TraceJob(
        "-".join(filter(None, [sweep, f"rung{rung}", f"trial{trial}"])),
        1 if gpus is None else gpus,
        None,
        duration(cells, "seconds"),
        whole(cells, "iterations"),
        text(cells, "model"),
        whole(cells, "batch_size"),
        sweep,
        notes=("no number of GPUs; a trial has one",) if gpus is None else (),
        rung=Rung(sweep, rung, trial),
    )


def _check_score(cells: Cells) -> None:
    """Scores say why trials were kept; nothing is computed from them."""
    score = text(cells, "score")
    try:
        known = math.isfinite(float(score))
    except ValueError:
        known = False
    if not known:
        raise CellError("score", f"{show(score)}; a finite number is expected")


def _problems(jobs: Sequence[tuple[int, TraceJob]]) -> list[Problem]:
    """Trials that are twice in a rung, or in none of the rung before."""
    lines: dict[Rung, int] = {}
    problems = []
    for line, job in jobs:
        if job.rung is None:
            continue
        if (first := lines.setdefault(job.rung, line)) != line:
            sweep, rung, trial = job.rung
            where = f"of sweep {sweep!r}, " if sweep else ""
            message = f"trial {trial!r} is in rung {rung} already {where}in line {first}"
            problems.append(Problem(f"line {line}", message))
    for one, line in lines.items():
        before = one._replace(number=one.number - 1)
        if one.number > 0 and before not in lines:
            message = f"trial {one.trial!r} is in rung {one.number} and not in rung {before.number}"
            problems.append(Problem(f"line {line}", message))
    return problems


SCORES = Format("scores", frozenset({"trial", "rung", "score"}), _job, check=_problems)


def after_rungs(
    names: Iterable[tuple[str, Rung | None]],
) -> Mapping[str, tuple[str, ...]]:
    """By job of a later rung: the jobs for which it waits, those of the rung before it.

    Parameters
    ----------
    names
        The name of each job, and its rung; None for a job of no sweep.
    """
    rungs: dict[tuple[str, int], list[str]] = defaultdict(list)
    known = [(name, rung) for name, rung in names if rung is not None]
    for name, rung in known:
        rungs[rung.sweep, rung.number].append(name)
    found = {}
    for name, rung in known:
        # A rung whose rows were all left out is none.
        earlier = (k for k in range(rung.number - 1, -1, -1) if (rung.sweep, k) in rungs)
        if (before := next(earlier, None)) is not None:
            found[name] = tuple(rungs[rung.sweep, before])
    return found
