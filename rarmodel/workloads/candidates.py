"""Which rows of a trace may become jobs, and what is assumed about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from rarmodel import registry
from rarmodel.errors import UsageError

from .import_choices import Choices
from .licences import Count, why_lacking
from .model_profiles import Profile, assigned_model, is_type, known_model, profile_of
from .site import Place, Site
from .table_cells import LONGEST, Moment
from .trace_format import PART, Part, TraceJob
from .trace_reader import Trace
from .window import Window, extent

NO_DURATION = "no duration"


class Candidate(NamedTuple):
    """A row that may become a job.

    Attributes
    ----------
    line, name, gpus, seconds
        Its line, the job's name and GPUs, and its duration.
    submitted
        When it was submitted; None if unknown.
    tenant
        Whose job it is; empty if unknown or not kept.
    place
        Where it may run.
    profiles
        Profile of the model on each type of GPU on which it may run; under None if its times are
        the same on all.
    licences
        How many it held of each licence that the trace names.
    part
        The part of its GPU that each worker held.
    slices, share
        Slices of its GPU that each worker takes in the instance, None for all of it; and the part
        of the GPU that they are.
    """

    line: int
    name: str
    gpus: int
    seconds: float
    submitted: Moment | None
    tenant: str
    place: Place
    profiles: Mapping[str | None, Profile]
    licences: Mapping[str, int] = MappingProxyType({})
    part: Fraction = Fraction(1)
    slices: int | None = None
    share: Fraction = Fraction(1)

    @property
    def gpu_seconds(self) -> float:
        """Seconds of the GPUs, and parts of GPUs, that it held."""
        return float(self.gpus * self.part) * self.seconds


class Books:
    """Lines of rows left out, and of rows with notes, by reason."""

    def __init__(self) -> None:
        self.left_out: dict[str, list[int]] = {}
        self.notes: dict[str, list[int]] = {}
        self.gpu_hours: dict[str, float] = {}
        """GPU hours of the rows left out, by reason."""

    def leave_out(self, line: int, reason: str, gpu_hours: float = 0.0) -> None:
        """Count a row as left out, with the GPU hours that it is known to have."""
        self.left_out.setdefault(reason, []).append(line)
        self.gpu_hours[reason] = self.gpu_hours.get(reason, 0.0) + gpu_hours

    def leave_out_candidate(self, candidate: Candidate, reason: str) -> None:
        """Count a row as left out that might have become a job."""
        self.leave_out(candidate.line, reason, candidate.gpu_seconds / 3600)

    def note(self, line: int, reason: str) -> None:
        """Note an assumption about a row."""
        self.notes.setdefault(reason, []).append(line)


def candidates(
    trace: Trace,
    site: Site,
    choices: Choices,
    window: Window | None,
    fallback: str | None,
    books: Books,
    counts: Mapping[str, Count],
) -> list[Candidate]:
    """Rows that may become jobs, in order of submission; the books say why others do not.

    Parameters
    ----------
    trace, site, choices
        The trace, the cluster and the user's choices.
    window
        The window of submission in seconds of the trace; None for all.
    fallback
        Model of jobs whose model is unknown; None for a random one each.
    books
        Where rows left out and assumptions go.
    counts
        How many there are of each licence.

    Raises
    ------
    UsageError
        If the trace has no such group.
    """
    if choices.group is not None:
        groups = sorted({job.group for _, job in trace.jobs if job.group})
        if choices.group not in groups:
            known = ", ".join(groups) or "none in this trace"
            hint = registry.meant(choices.group, groups)
            raise UsageError(f"no group {choices.group!r}; choose one of {known}{hint}")
    outside = _outside(trace) if window else ""
    found = []
    taken: set[str] = set()
    for line, job in trace.jobs:
        place = site.place(job.gpu_types, job.partition, job.part.shards if job.part else 0)
        reason = _why_not(job, site, place, choices, window, outside)
        reason = reason or why_lacking(dict(job.licences), counts)
        if job.name and not reason and line in trace.copies:
            reason = "a copy of an earlier row"
        if reason:
            books.leave_out(line, reason, job.gpu_hours)
            continue
        name = job.name or f"{trace.noun}{line}"
        gpus = job.part.workers if job.part else int(job.gpus or 0)
        profiles = _profiles(job, name, line, gpus, site, place, choices.seed, fallback, books)
        seconds = _seconds(trace, job, profiles, gpus, line, choices, books)
        if not seconds:
            books.leave_out(line, NO_DURATION if seconds is None else "a duration of 0")
            continue
        if seconds > LONGEST:
            books.leave_out(
                line, f"more than {LONGEST:g} s for its iterations", gpus * seconds / 3600
            )
            continue
        if name in taken:
            books.note(line, f"the name of an earlier row; made unique by the {trace.noun}")
        while name in taken:
            name = f"{name}-{trace.noun}{line}"
        taken.add(name)
        if line in trace.copies:
            books.note(line, "equal to an earlier row; kept, because the format has no names")
        slices, part, share = _sliced(job.part, site, place)
        told = [_told_of(job.part, site)] if job.part else []
        for note in (*job.notes, *place.notes, *told):
            books.note(line, note)
        if job.submit and job.submit.stated:
            books.note(line, f"a date without a zone; {choices.time_zone} is used")
        if choices.keeps_time and job.submit is None:
            books.note(line, "no time of submission; it is released at slot 0")
        if window and job.submit and job.submit.seconds < window.first:
            books.note(line, "submitted before the window and waiting at its start")
        tenant = job.tenant if choices.keeps_time else ""
        licences = dict(job.licences)
        found.append(
            Candidate(
                *(line, name, gpus, seconds, job.submit, tenant, place, profiles, licences),
                part=part,
                slices=slices,
                share=share,
            )
        )
    return sorted(found, key=_by_submission)


def _sliced(part: Part | None, site: Site, place: Place) -> tuple[int | None, Fraction, Fraction]:
    """Slices that each worker takes, the part of its GPU that it held, and that they are.

    A fraction is rounded up. The slices are None for the whole GPU.
    """
    if part is None:
        return None, Fraction(1), Fraction(1)
    if part.of_gpu is None:
        share = Fraction(part.shards, place.gpu_slices)
        return part.shards, share, share
    slices = math.ceil(part.of_gpu * site.gpu_slices)
    if slices == site.gpu_slices:
        return None, part.of_gpu, Fraction(1)
    return slices, part.of_gpu, Fraction(slices, site.gpu_slices)


def _told_of(part: Part, site: Site) -> str:
    """What is assumed of a row on a part of a GPU."""
    what = "shards of a GPU, as slices"
    if part.of_gpu is not None:
        what = f"a part of a GPU, rounded up to slices (gpu_slices {site.gpu_slices})"
    return f"{what}; as fast beside others as recorded (sensitivity 0)"


def _by_submission(candidate: Candidate) -> tuple[float, int]:
    submitted = candidate.submitted
    return (submitted.seconds if submitted else -math.inf), candidate.line


def _outside(trace: Trace) -> str:
    """Why a row outside the window is left out."""
    if not trace.submissions:
        return ""
    spanned = extent(min(trace.submissions), max(trace.submissions), trace.zone)
    return f"submitted outside the window; the trace has {spanned}"


def _why_not(
    job: TraceJob, site: Site, place: Place, choices: Choices, window: Window | None, outside: str
) -> str:
    """Why a row is not imported; empty if it is imported.

    Parameters
    ----------
    job, site, place
        The row, the cluster, and where in it the job may run.
    choices, window
        The user's choices, and the window in seconds of the trace.
    outside
        Why rows outside the window are not.
    """
    if choices.group is not None and job.group != choices.group:
        return f"not of group {choices.group!r}"
    if window is not None:
        if job.submit is None:
            return "no time of submission"
        if not window.first <= job.submit.seconds < window.last:
            waiting = choices.keeps_time and _at_start(job, job.submit, window)
            if waiting == _RUNNING or not waiting:
                return waiting or outside
    if job.unusable:
        return job.unusable
    if job.part is not None and (place if job.part.shards else site).gpu_slices == 1:
        return place.lacking or PART
    gpus = job.part.workers if job.part else job.gpus
    if gpus is None:
        return "no number of GPUs"
    if gpus == 0:
        return "no GPU"
    if gpus != int(gpus):
        return PART
    if gpus > site.gpus:
        return f"more GPUs than the cluster's {site.gpus}"
    if gpus > place.gpus:
        return place.lacking or f"more GPUs than the {place.gpus} that it may use"
    return ""


_RUNNING = (
    "running at the window's start on GPUs that the trace does not name; they count as idle there"
)
_WAITING = "waiting"


def _at_start(job: TraceJob, submitted: Moment, window: Window) -> str:
    """How a job from before the window stands at its start: waiting, running, or neither."""
    if not submitted.seconds < window.first or job.start is None:
        return ""
    if job.start.is_date != submitted.is_date:
        return ""
    if job.start.seconds >= window.first:
        return _WAITING
    ended = job.seconds is not None and job.start.seconds + job.seconds <= window.first
    return "" if ended else _RUNNING


def _profiles(
    job: TraceJob,
    name: str,
    line: int,
    gpus: int,
    site: Site,
    place: Place,
    seed: int,
    fallback: str | None,
    books: Books,
) -> Mapping[str | None, Profile]:
    """Profiles of the job's model; if it is unknown, of another model with its own batch."""
    batch_size = job.batch_size
    model = known_model(job.model) if job.model else None
    if model is None:
        said = f"model {job.model!r} has no profile" if job.model else "no model"
        used = "the given one" if fallback else "a random one by seed and name"
        books.note(line, f"{said}; {used} is used")
        model, batch_size = fallback or assigned_model(seed, name), None
    types = place.types or place.kinds
    first = profile_of(model, gpus, batch_size, types[0] if types else None)
    if not types or (len(types) == 1 and place.types is None):
        return {None: first}
    of_each: dict[str | None, Profile] = {
        kind: profile_of(model, gpus, first.batch_size, kind) for kind in types
    }
    others = [kind for kind in types if not is_type(kind, of_each[kind].hardware)]
    if place.types is not None:
        if others:
            books.note(line, f"no profile on {' or '.join(others)}; that on another type is used")
        return of_each
    if others or not site.typed:
        books.note(line, "no profiles on every type of GPU; it runs alike on all")
        return {None: first}
    return of_each


def _seconds(
    trace: Trace,
    job: TraceJob,
    profiles: Mapping[str | None, Profile],
    gpus: int,
    line: int,
    choices: Choices,
    books: Books,
) -> float | None:
    """Duration of a job on its GPUs: recorded, from its iterations, or the default."""
    if job.seconds is not None:
        return job.seconds
    if job.iterations is not None and job.model and known_model(job.model):
        books.note(line, "duration from iterations and profile")
        shared = gpus if trace.format.summed_iterations else 1
        return min(job.iterations * _each(p, gpus) * 1e-3 / shared for p in profiles.values())
    if choices.default_seconds is not None:
        books.note(line, "no duration; the default is used")
    return choices.default_seconds


def _each(profile: Profile, gpus: int) -> float:
    """Milliseconds of an iteration: measured on as many GPUs, or those of its compute time."""
    measured = profile.iteration_ms if profile.gpus == gpus else None
    return profile.compute_ms if measured is None else measured
