"""Turn a trace into an instance: choose the rows, and make a job from each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.model import timing
from rarmodel.model.extremes import iteration_ranges
from rarmodel.schema import Cluster, Contention, Instance, Job
from rarmodel.schema.problems import problems_of

from .account import Account, counted, grouped, told
from .cells import LONGEST
from .choices import Choices
from .formats import TraceJob
from .generate import FORWARD_PART, with_safe_horizon
from .profiles import Profile, assigned_model, known_model, profile_of, require_model
from .reader import Trace, read_trace
from .settings import MAX_JOBS
from .window import Window, extent, parse_window

DEFAULT_CONTENTION: Mapping[str, Any] = {
    "concurrency": 1.0,
    "degradation": {"kind": "linear", "alpha": 0.1},
    "overhead_ms_per_server": 1.0,
}
"""Contention of the bundled `philly-2869ce`; α matches two-host measurements over 1 GbE."""


_NO_DURATION = "no duration"


class Imported(NamedTuple):
    """An imported trace.

    Attributes
    ----------
    instance
        The instance.
    account
        The account of every row.
    """

    instance: Instance
    account: Account


class _Candidate(NamedTuple):
    """A row that may become a job."""

    line: int
    name: str
    gpus: int
    seconds: float
    submitted: float
    profile: Profile


class _Books:
    """Lines of rows left out, and of rows with notes, by reason."""

    def __init__(self) -> None:
        self.left_out: dict[str, list[int]] = {}
        self.notes: dict[str, list[int]] = {}

    def leave_out(self, line: int, reason: str) -> None:
        self.left_out.setdefault(reason, []).append(line)

    def note(self, line: int, reason: str) -> None:
        self.notes.setdefault(reason, []).append(line)


def import_trace(
    source: str, cluster: Cluster, contention: Contention, choices: Choices
) -> Imported:
    """Make an instance from a trace; all jobs wait at slot 0, in order of submission.

    A job's iterations are its greatest speed, that of its best placement without contention, times
    its recorded duration in slots, rounded to the nearest and at least 1: so in that placement
    its execution time is the recorded duration, and the workload's GPU hours are kept.

    Raises
    ------
    InputError
        If the file or a row is unusable, or no row becomes a job.
    UsageError
        If a choice is invalid.
    """
    window = parse_window(choices.window) if choices.window else None
    fallback = require_model(choices.model) if choices.model else None
    trace = read_trace(
        source,
        form=choices.form,
        columns=choices.columns,
        skip_invalid=choices.skip_invalid,
        max_mb=choices.max_size_mb,
    )
    books = _Books()
    for reason, lines in trace.invalid.items():
        for line in lines:
            books.leave_out(line, reason)
    candidates = _candidates(trace, cluster.total_gpus, choices, window, fallback, books)
    if not choices.contention:
        candidates = [
            candidate._replace(profile=candidate.profile._replace(gradient_mb=0.0))
            for candidate in candidates
        ]
        contention = contention.model_copy(update={"overhead_ms_per_server": 0.0})
    rows = len(trace.jobs) + sum(map(len, trace.invalid.values()))
    instance, used = _instance(trace, candidates, cluster, contention, choices, books, rows)
    slots = choices.slot_seconds / 3600
    account = Account(
        source=trace.source,
        format=trace.format.name,
        rows=rows,
        used=len(used),
        left_out=grouped(books.left_out),
        notes=grouped(_of_used(books.notes, used)),
        gpu_hours_recorded=sum(c.gpus * c.seconds for c in used) / 3600,
        gpu_hours=sum(c.gpus * _slots(c, choices) for c in used) * slots,
    )
    if account.used + sum(group.rows for group in account.left_out) != account.rows:
        raise AssertionError("a row is neither used nor explained")
    return Imported(instance, account)


def _of_used(notes: Mapping[str, list[int]], used: list[_Candidate]) -> dict[str, list[int]]:
    lines = {candidate.line for candidate in used}
    return {note: [line for line in found if line in lines] for note, found in notes.items()}


def _candidates(
    trace: Trace,
    total_gpus: int,
    choices: Choices,
    window: Window | None,
    fallback: str | None,
    books: _Books,
) -> list[_Candidate]:
    """Rows that may become jobs; the books get the reason for every other row."""
    submissions = [job.submit for _, job in trace.jobs if job.submit]
    start = min((moment.seconds for moment in submissions), default=0.0)
    if window and window.is_date and not any(moment.is_date for moment in submissions):
        raise UsageError("the trace has no dates; give a window such as 0h..24h")
    if choices.group is not None:
        groups = sorted({job.group for _, job in trace.jobs if job.group})
        if choices.group not in groups:
            known = ", ".join(groups) or "none in this trace"
            raise UsageError(f"no group {choices.group!r}; choose one of {known}")
    outside = ""
    if window and submissions:
        last = max(moment.seconds for moment in submissions)
        spanned = extent(start, last, is_date=submissions[0].is_date)
        outside = f"submitted outside the window; the trace has {spanned}"
    if window and not window.is_date:
        window = Window(window.first + start, window.last + start, is_date=False)
    found = []
    taken: set[str] = set()
    for line, job in trace.jobs:
        reason = _why_not(job, total_gpus, choices.group, window, outside)
        if job.name and not reason and line in trace.copies:
            reason = "a copy of an earlier row"
        if reason:
            books.leave_out(line, reason)
            continue
        name = job.name or f"line{line}"
        gpus = int(job.gpus or 0)
        profile = _profile(job, name, line, gpus, choices.seed, fallback, books)
        seconds = _seconds(trace, job, profile, gpus, line, choices, books)
        if not seconds:
            books.leave_out(line, _NO_DURATION if seconds is None else "a duration of 0")
            continue
        if seconds > LONGEST:
            books.leave_out(line, f"more than {LONGEST:g} s for its iterations")
            continue
        if name in taken:
            books.note(line, "the name of an earlier row; made unique by the line")
        while name in taken:
            name = f"{name}-line{line}"
        taken.add(name)
        if line in trace.copies:
            books.note(line, "equal to an earlier row; kept, because the format has no names")
        submitted = job.submit.seconds if job.submit else -math.inf
        found.append(_Candidate(line, name, gpus, seconds, submitted, profile))
    found.sort(key=lambda candidate: (candidate.submitted, candidate.line))
    return found


def _why_not(
    job: TraceJob, total_gpus: int, group: str | None, window: Window | None, outside: str
) -> str:
    """Why a row is not imported, `outside` if the window says so; empty if it is imported."""
    if group is not None and job.group != group:
        return f"not of group {group!r}"
    if window is not None:
        if job.submit is None:
            return "no time of submission"
        if not window.first <= job.submit.seconds < window.last:
            return outside
    if job.unusable:
        return job.unusable
    if job.gpus is None:
        return "no number of GPUs"
    if job.gpus == 0:
        return "no GPU"
    if job.gpus != int(job.gpus):
        return "a part of a GPU"
    if job.gpus > total_gpus:
        return f"more GPUs than the cluster's {total_gpus}"
    return ""


def _profile(
    job: TraceJob,
    name: str,
    line: int,
    gpus: int,
    seed: int,
    fallback: str | None,
    books: _Books,
) -> Profile:
    """The profile of the job's model; if it is unknown, of another model with its own batch."""
    if job.model and (model := known_model(job.model)) is not None:
        return profile_of(model, gpus, job.batch_size)
    said = f"model {job.model!r} has no profile" if job.model else "no model"
    used = "the given one" if fallback else "a random one by seed and name"
    books.note(line, f"{said}; {used} is used")
    return profile_of(fallback or assigned_model(seed, name), gpus, None)


def _seconds(
    trace: Trace,
    job: TraceJob,
    profile: Profile,
    gpus: int,
    line: int,
    choices: Choices,
    books: _Books,
) -> float | None:
    """Duration of a job on its GPUs: recorded, from its iterations, or the default."""
    if job.seconds is not None:
        return job.seconds
    if job.iterations is not None and job.model and known_model(job.model):
        books.note(line, "duration from iterations and profile")
        measured = profile.iteration_ms if profile.gpus == gpus else None
        each = profile.compute_ms if measured is None else measured
        shared = gpus if trace.format.summed_iterations else 1
        return job.iterations * each * 1e-3 / shared
    if choices.default_seconds is not None:
        books.note(line, "no duration; the default is used")
    return choices.default_seconds


def _slots(candidate: _Candidate, choices: Choices) -> int:
    return max(1, math.floor(candidate.seconds / choices.slot_seconds + 0.5))


def _job(candidate: _Candidate) -> dict[str, Any]:
    profile = candidate.profile
    return {
        "name": candidate.name,
        "gpus": candidate.gpus,
        "iterations": 1,
        "gradient_mb": profile.gradient_mb,
        "batch_size": profile.batch_size,
        "forward_ms_per_sample": round(FORWARD_PART * profile.compute_ms / profile.batch_size, 6),
        "backward_ms": round((1 - FORWARD_PART) * profile.compute_ms, 4),
    }


def _instance(
    trace: Trace,
    candidates: list[_Candidate],
    cluster: Cluster,
    contention: Contention,
    choices: Choices,
    books: _Books,
    rows: int,
) -> tuple[Instance, list[_Candidate]]:
    """The instance, and the rows that are its jobs."""
    if not candidates:
        raise _nothing_left(trace, books, rows)
    if choices.max_jobs is None and len(candidates) > MAX_JOBS:
        message = f"{len(candidates):,} jobs; at most {MAX_JOBS:,} are supported"
        cure = "--window, --group or --max-jobs chooses among them"
        raise InputError([Problem("", f"{message}; {cure}")], trace.source)
    draft = _draft(trace, candidates, cluster, contention, choices)
    used, jobs = list[_Candidate](), list[Job]()
    for candidate, job, (best, _) in zip(
        candidates, draft.jobs, iteration_ranges(draft), strict=True
    ):
        speed = timing.speed(choices.slot_seconds, best)
        if speed == 0:
            books.leave_out(candidate.line, "an iteration takes longer than a slot")
        elif choices.max_jobs is not None and len(used) == choices.max_jobs:
            books.leave_out(candidate.line, f"beyond the first {counted(choices.max_jobs, 'job')}")
        else:
            used.append(candidate)
            iterations = speed * _slots(candidate, choices)
            jobs.append(job.model_copy(update={"iterations": iterations}))
    if not used:
        raise _nothing_left(trace, books, rows)
    description = (
        f"Imported from {Path(trace.source).name}, format {trace.format.name}: "
        f"{len(used)} of {rows} rows. {trace.format.credit}".rstrip()
    )
    instance = draft.model_copy(update={"jobs": tuple(jobs), "description": description})
    return instance if choices.horizon else with_safe_horizon(instance), used


def _draft(
    trace: Trace,
    candidates: list[_Candidate],
    cluster: Cluster,
    contention: Contention,
    choices: Choices,
) -> Instance:
    """An instance with a job of one iteration for each candidate."""
    name = Path(trace.source).name.split(".")[0] or "trace"
    try:
        return Instance.model_validate(
            {
                "schema_version": 1,
                "name": name if choices.name is None else choices.name,
                "description": "",
                "time": {
                    "slot_seconds": float(choices.slot_seconds),
                    "horizon": choices.horizon or 1,
                },
                "cluster": cluster,
                "contention": contention,
                "jobs": [_job(candidate) for candidate in candidates],
            }
        )
    except ValidationError as error:
        raise InputError(problems_of(error), trace.source) from error


def _nothing_left(trace: Trace, books: _Books, rows: int) -> InputError:
    """The error when no row became a job, with the reasons."""
    message = "no rows below the names of columns; jobs are expected"
    if rows:
        message = f"no job is left of {counted(rows, 'row')}: {told(grouped(books.left_out))}"
        if _NO_DURATION in books.left_out:
            message += "; --default-seconds gives jobs a duration"
    return InputError([Problem("", message)], trace.source)
