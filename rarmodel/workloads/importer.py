"""Turn a trace into an instance: choose the rows, and make a job from each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from rarmodel.counting import counted
from rarmodel.errors import InputError, Problem, UsageError, listed
from rarmodel.schema import Cluster, Contention, Instance
from rarmodel.schema.problems import problems_of

from .account import Account, grouped, told
from .candidates import NO_DURATION, Books, Candidate, candidates
from .dealt import kept_to_trees
from .fitting import Fits, told_network
from .generate import with_safe_horizon
from .import_choices import Choices
from .licences import Count, counts_of, kept_of_licences
from .model_profiles import Profile, require_model
from .plausibility import findings
from .releases import FURTHEST, Calendar, calendar
from .settings import MAX_JOBS
from .site import Site
from .sweep_scores import after_rungs
from .switch_trees import Tree
from .trace_reader import Trace, read_trace
from .window import absolute, parse_window
from .zones import parse_zone

DEFAULT_CONTENTION: Mapping[str, Any] = {
    "concurrency": 1.0,
    "degradation": {"kind": "linear", "alpha": 0.1},
    "overhead_ms_per_server": 1.0,
}
"""Contention of the bundled `philly-2869ce`; α matches two-host measurements over 1 GbE."""

_TOO_SLOW = "an iteration takes longer than a slot"


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


def import_trace(
    source: str,
    cluster: Cluster,
    contention: Contention,
    choices: Choices,
    partitions: Mapping[str, Sequence[str]] | None = None,
    *,
    trees: Sequence[Tree] = (),
    outside: Sequence[str] = (),
    licences: Mapping[str, int] | None = None,
) -> Imported:
    """Make an instance from a trace; its jobs are in order of submission.

    A job's iterations are its greatest speed, that of its best placement without contention, times
    its recorded duration in slots, rounded to the nearest and at least 1: so in that placement
    its execution time is the recorded duration, and the workload's GPU hours are kept. If the trace
    was measured on another network, this holds on that one; here the same work takes its own time.

    Its release is the first slot that begins no earlier than its submission, in the `calendar` of
    the jobs, and its tenant that of the row; unless all jobs are to wait at slot 0. A job that was
    waiting when the window began has a negative release. One that ran then is left out: no format
    says on which GPUs.

    A type of GPU that the row names binds the job if the cluster has several types; so does a
    partition that does not have all servers.

    A part of a GPU becomes slices where the GPUs of all servers have the same number of them,
    rounded up. The recorded duration has whoever was beside it, so its sensitivity is 0. Elsewhere
    such a row is left out.

    Licences are resources: as many as `licences` says, or else as jobs of the trace held at once.

    Parameters
    ----------
    source
        The trace, plain or gzipped; `-` for standard input.
    cluster, contention
        The cluster, and how rings slow each other down on it.
    choices
        What to import, and what to assume.
    partitions
        Servers of each partition that rows name.
    trees, outside
        Trees of switches that no switch joins, and nodes that the cluster lacks as they are below
        no switch.
    licences
        How many there are of each licence, as far as that is known.

    Raises
    ------
    InputError
        If the file or a row is unusable, or no row becomes a job.
    UsageError
        If a choice is invalid.
    """
    asked = parse_window(choices.window) if choices.window else None
    zone = parse_zone(choices.time_zone) if choices.time_zone else None
    fallback = require_model(choices.model) if choices.model else None
    trace = read_trace(
        source,
        form=choices.form,
        columns=choices.columns,
        skip_invalid=choices.skip_invalid,
        max_mb=choices.max_size_mb,
        zone=zone,
    )
    if zone is not None and trace.submissions and not trace.submissions[0].is_date:
        raise UsageError("the trace has no dates; leave out --time-zone")
    books = Books()
    for reason, lines in trace.invalid.items():
        for line in lines:
            books.leave_out(line, reason)
    site = Site(cluster, partitions or {})
    window = absolute(asked, trace.submissions, zone) if asked else None
    counts = counts_of((job for _, job in trace.jobs), licences or {})
    found = candidates(trace, site, choices, window, fallback, books, counts)
    found = kept_to_trees(found, cluster, trees, books)
    if not choices.contention:
        found = [candidate._replace(profiles=_without_gradient(candidate)) for candidate in found]
        contention = contention.model_copy(update={"overhead_ms_per_server": 0.0})
    rows = len(trace.jobs) + sum(map(len, trace.invalid.values()))
    if not found:
        raise _nothing_left(trace, books, rows)
    slots = None
    if choices.keeps_time:
        slots = calendar([one.submitted for one in found], window, choices.slot_seconds, trace.zone)
    fits = Fits(found, cluster, contention, choices.slot_seconds, choices.measured_gbps)
    used = _used(found, fits, slots, choices, books)
    if not used:
        raise _nothing_left(trace, books, rows)
    if choices.max_jobs is None and len(used) > MAX_JOBS:
        message = f"{len(used):,} jobs; at most {MAX_JOBS:,} are supported"
        cure = "--window, --group or --max-jobs chooses among them"
        raise InputError([Problem("", f"{message}; {cure}")], trace.source)
    instance = _instance(trace, used, fits, slots, cluster, contention, choices, counts, rows)
    hours = choices.slot_seconds / 3600
    held = {c.line: float(c.gpus * c.share) for c in used}
    in_slots = sum(held[c.line] * fits.slots(c) for c in used) * hours
    other = choices.measured_gbps is not None
    account = Account(
        source=trace.source,
        format=trace.format.name,
        rows=rows,
        used=len(used),
        left_out=grouped(books.left_out, books.gpu_hours),
        notes=grouped(_of_used(books.notes, used)),
        gpu_hours_recorded=sum(c.gpu_seconds for c in used) / 3600,
        gpu_hours=sum(held[c.line] * fits.slots_here(c) for c in used) * hours
        if other
        else in_slots,
        gpu_hours_measured=in_slots if other else None,
        findings=findings(trace),
        noun=trace.noun,
        kept=(
            *_kept_of_time(trace, used, slots),
            *_kept_of_places(site, used),
            *kept_of_licences([one.licences for one in used], counts),
            *_kept_of_switches(outside),
            *_of_profiles(used),
        ),
    )
    if account.used + sum(group.rows for group in account.left_out) != account.rows:
        raise AssertionError("a row is neither used nor explained")
    return Imported(instance, account)


def _without_gradient(candidate: Candidate) -> Mapping[str | None, Profile]:
    profiles = candidate.profiles.items()
    return {kind: profile._replace(gradient_mb=0.0) for kind, profile in profiles}


def _of_used(notes: Mapping[str, list[int]], used: list[Candidate]) -> dict[str, list[int]]:
    lines = {candidate.line for candidate in used}
    return {note: [line for line in found if line in lines] for note, found in notes.items()}


def _kept_of_time(trace: Trace, used: list[Candidate], slots: Calendar | None) -> list[str]:
    """What becomes of times of submission and tenants, a line each."""
    tenants = sorted({candidate.tenant for candidate in used if candidate.tenant})
    timed = any(candidate.submitted for candidate in used)
    if slots is None:
        known = {"times of submission": timed, "tenants": any(job.tenant for _, job in trace.jobs)}
        dropped = " and ".join(what for what, there in known.items() if there)
        return [f"not kept: {dropped}; all jobs wait at slot 0"] if dropped else []
    lines = []
    if timed:
        releases = [slots.release(candidate.submitted) for candidate in used]
        lines.append(f"kept: releases from {min(releases)} to {max(releases)}; {slots.told()}")
    if tenants:
        lines.append(f"kept: {counted(len(tenants), 'tenant')} without caps: {listed(tenants)}")
    return lines


def _kept_of_places(site: Site, used: list[Candidate]) -> list[str]:
    """What becomes of types of GPU and partitions, a line each."""
    lines = []
    if site.types:
        bound = counted(sum(c.place.types is not None for c in used), "job")
        lines.append(f"kept: types of GPU {listed(site.types)}; {bound} bound to some of them")
    if listing := sum(candidate.place.servers is not None for candidate in used):
        lines.append(f"kept: lists of servers of {counted(listing, 'job')}")
    return lines


def _of_profiles(used: Sequence[Candidate]) -> list[str]:
    """How far the profiles of rings are off steps that no fit has seen, in a line."""
    rings = [profile for one in used if one.gpus > 1 for profile in one.profiles.values()]
    if not rings:
        return []
    errors = {f"{one.model} on {one.hardware}": one.error for one in rings if one.error is not None}
    told = [f"{what} {error:.1%}" for what, error in sorted(errors.items())]
    if unknown := len({one.model for one in rings if one.error is None}):
        told.append(f"nobody has measured {counted(unknown, 'model')} over several servers")
    return [f"error of profiles: {', '.join(told)}"]


def _kept_of_switches(outside: Sequence[str]) -> list[str]:
    """What becomes of nodes below no switch, in a line."""
    told = f"{counted(len(outside), 'node')} below no switch: {listed(outside)}"
    return [f"not kept: {told}; Slurm places no job there"] if outside else []


def _job(
    candidate: Candidate,
    fits: Fits,
    slots: Calendar | None,
    counts: Mapping[str, Count],
    after: Sequence[str],
) -> dict[str, Any]:
    fit = fits.of(candidate)
    job = {
        "name": candidate.name,
        "iterations": fit.measured * fits.slots(candidate),
        **fit.fields,
    }
    if slots is not None and (release := slots.release(candidate.submitted)):
        job["release"] = release
    if candidate.tenant:
        job["tenant"] = candidate.tenant
    if after:
        job["after"] = after
    if known := {name: n for name, n in candidate.licences.items() if name in counts}:
        job["resources"] = known
    return job


def _used(
    found: Sequence[Candidate],
    fits: Fits,
    slots: Calendar | None,
    choices: Choices,
    books: Books,
) -> list[Candidate]:
    """The rows that become jobs; the books say why others do not."""
    used = list[Candidate]()
    for candidate in found:
        fit = fits.of(candidate)
        if not fit.measured:
            books.leave_out_candidate(candidate, _TOO_SLOW)
        elif not fit.here:
            books.leave_out_candidate(candidate, f"{_TOO_SLOW} on the instance's network")
        elif slots is not None and slots.too_far(candidate.submitted):
            books.leave_out_candidate(
                candidate, f"submitted more than {FURTHEST:g} slots from slot 0"
            )
        elif choices.max_jobs is not None and len(used) == choices.max_jobs:
            books.leave_out_candidate(
                candidate, f"beyond the first {counted(choices.max_jobs, 'job')}"
            )
        else:
            used.append(candidate)
    return used


def _instance(
    trace: Trace,
    used: Sequence[Candidate],
    fits: Fits,
    slots: Calendar | None,
    cluster: Cluster,
    contention: Contention,
    choices: Choices,
    counts: Mapping[str, Count],
    rows: int,
) -> Instance:
    """The instance whose jobs are these rows."""
    tenants = sorted({candidate.tenant for candidate in used if candidate.tenant})
    licences = sorted({name for one in used for name in one.licences} & counts.keys())
    name = Path(trace.source).name.split(".")[0] or "trace"
    source = f"{Path(trace.source).name}, format {trace.format.name}"
    said = (
        f"Imported from {source}: {len(used)} of {rows} rows.",
        told_network(cluster, choices.measured_gbps),
        trace.format.credit,
    )
    time: dict[str, Any] = {
        "slot_seconds": float(choices.slot_seconds),
        "horizon": choices.horizon or 1,
    }
    if slots is not None and slots.origin is not None:
        time["origin"] = slots.origin
    content: dict[str, Any] = {
        "schema_version": 1,
        "name": name if choices.name is None else choices.name,
        "description": " ".join(filter(None, said)),
        "time": time,
        "cluster": cluster,
        "contention": contention,
    }
    if choices.restore_seconds is not None:
        content["preemption"] = {"restore_seconds": float(choices.restore_seconds)}
    if tenants:
        content["tenants"] = [{"name": tenant} for tenant in tenants]
    if licences:
        content["resources"] = [
            {"name": licence, "capacity": float(counts[licence].number)} for licence in licences
        ]
    rungs = {line: job.rung for line, job in trace.jobs if job.rung is not None}
    after = after_rungs((one.name, rungs.get(one.line)) for one in used)
    content["jobs"] = [
        _job(candidate, fits, slots, counts, after.get(candidate.name, ())) for candidate in used
    ]
    try:
        instance = Instance.model_validate(content)
    except ValidationError as error:
        raise InputError(problems_of(error), trace.source) from error
    return instance if choices.horizon else with_safe_horizon(instance)


def _nothing_left(trace: Trace, books: Books, rows: int) -> InputError:
    """The error when no row became a job, with the reasons."""
    message = "no rows below the names of columns; jobs are expected"
    if rows:
        message = (
            f"no job is left of {counted(rows, 'row')}: {told(grouped(books.left_out), trace.noun)}"
        )
        if NO_DURATION in books.left_out:
            message += "; --default-seconds gives jobs a duration"
    return InputError([Problem("", one) for one in (message, *findings(trace))], trace.source)
