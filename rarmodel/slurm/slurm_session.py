"""Read, plan, apply: the calls of `rarmodel slurm`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rarmodel.api.sources import ScheduleSource, Source, load_schedule
from rarmodel.defaults import SEARCH_SECONDS
from rarmodel.errors import UsageError
from rarmodel.files import write_text

from . import applying, planning, queue_reading
from .applying import Applied, StaleError
from .carrying_out import carried_out
from .plans import Plan
from .program_outputs import Run, live, record, recorded, run
from .queue_account import Reading
from .queue_choices import Choices, chosen
from .watching import EVERY, MOST, THRESHOLD, Watch


def read(
    source: str | os.PathLike[str] | None = None,
    *,
    record_to: str | os.PathLike[str] | None = None,
    run: Run = run,
    **choices: Any,
) -> Reading:
    """Read the queue of Slurm as an instance, with an account of every job.

    Parameters
    ----------
    source
        A folder of recorded outputs; by default rarmodel asks Slurm.
    record_to
        Keep Slurm's outputs in this folder.
    run
        Runs Slurm's commands.
    **choices
        `partition`, `profiles`, `cluster`, `rates`, `contention`, `gpu_speeds`, `objective`,
        `slot_seconds`, `default_seconds`, `whose`, `named` and `operator` of `chosen`.

    Raises
    ------
    InputError
        If an output or a file is unusable, or no job can be used.
    UsageError
        If Slurm is not installed here, or a choice is invalid.
    SlurmError
        If Slurm does not answer.
    """
    outputs = _outputs(source, run)
    if record_to is not None:
        record(outputs, record_to)
    made = queue_reading.read(outputs, _chosen(choices, source))
    return made if source is not None else _by_local_clock(made)


def _by_local_clock(made: Reading) -> Reading:
    """The same, with slot 0 told in the time of this machine."""
    time = made.instance.time
    local = None if time.origin is None else time.origin.astimezone()
    told = time.model_copy(update={"origin": local})
    return made._replace(instance=made.instance.model_copy(update={"time": told}))


def plan(
    source: Source | Reading | None = None,
    *,
    objective: str | Sequence[str] | None = None,
    method: str | None = None,
    formulation: str | None = None,
    run: Run = run,
    choices: Mapping[str, Any] | None = None,
    **limits: Any,
) -> Plan:
    """Plan a queue, beside what Slurm's own order would give under the same model.

    A plan of a reading respects processors and memory by their counts: where jobs that the plan has
    on a node at once ask for more than it has, rarmodel plans again, the later after the other.

    Parameters
    ----------
    source
        A reading, or an instance; by default rarmodel reads the queue.
    objective, method, formulation, limits
        As for `solve`.
    choices
        Choices of `read`, where rarmodel reads the queue.

    Raises
    ------
    InputError, UsageError, SlurmError
        As `read` and `solve`.
    NoScheduleError
        If no plan was found.
    """
    if source is None:
        source = read(run=run, **(choices or {}))
    asked = {"objective": objective, "method": method, "formulation": formulation, **limits}
    if not isinstance(source, Reading):
        return planning.plan(source, **asked)
    return planning.plan(source.instance, queue=source.queue, assumed=source.assumed, **asked)


def apply(
    schedule: ScheduleSource,
    *,
    carry_out: bool = False,
    replan: bool = False,
    source: str | os.PathLike[str] | None = None,
    run: Run = run,
    tell: Callable[[str], None] | None = None,
    limits: Mapping[str, Any] | None = None,
    undo: str | os.PathLike[str] | None = None,
    **choices: Any,
) -> Applied:
    """Hand a plan back to Slurm: compare it with the queue as it is now, then change the jobs.

    Only jobs that are held are touched, and of these only those whose comment begins with
    `rarmodel`, or that are named.

    Parameters
    ----------
    schedule
        A plan of `plan`.
    carry_out
        Run the commands; by default nothing is run, and `Applied.script` has them.
    replan
        Plan again if the plan is stale.
    source
        A folder of recorded outputs; only without `carry_out`.
    tell
        Is told each command before it runs.
    limits
        Limits of the new plan, as for `solve`.
    undo
        Write the way back to this file before anything is changed: a script that holds the jobs
        again, and restores what they asked for.
    **choices
        The choices of the reading that was planned; see `read`.

    Raises
    ------
    StaleError
        With what changed since the plan was made.
    UsageError
        If no job of the plan may be touched.
    """
    if carry_out and source is not None:
        raise UsageError("recorded outputs cannot be changed; leave --from or --apply out")
    outputs = _outputs(source, run)
    made = _chosen(choices, source)
    try:
        applied = applying.checked(load_schedule(schedule), outputs, made)
    except StaleError:
        if not replan:
            raise
        fresh = plan(queue_reading.read(outputs, made), **(limits or {}))
        outputs = _outputs(source, run)
        applied = applying.checked(fresh.schedule, outputs, made)
    if undo is not None:
        write_text(undo, applied.undo())
    return carried_out(applied, run, tell) if carry_out else applied


def watch(
    *,
    every: float = EVERY,
    threshold: float = THRESHOLD,
    most: int = MOST,
    looks: int | None = None,
    run: Run = run,
    tell: Callable[[str], None] = print,
    limits: Mapping[str, Any] | None = None,
    **choices: Any,
) -> Watch:
    """Plan a queue again as it changes, and hand back each job shortly before its start.

    Parameters
    ----------
    every, threshold, most, run, tell
        See `Watch`.
    looks
        End after so many looks; by default rarmodel looks until you interrupt it.
    limits
        Limits of each plan, as for `solve`; by default half the time between two looks, at most
        that of `solve`.
    **choices
        Choices of `read`.

    Returns
    -------
    Watch
        With every command that changed something.
    """
    asked = {"time_limit": min(every / 2, SEARCH_SECONDS), **(limits or {})}
    found = Watch(
        plan=lambda seen: plan(seen, **asked),
        choices=_chosen(choices),
        every=every,
        threshold=threshold,
        most=most,
        run=run,
        tell=tell,
    )
    found.watch(looks)
    return found


def _outputs(source: str | os.PathLike[str] | None, run: Run) -> dict[str, str]:
    return live(run) if source is None else recorded(source)


def _chosen(choices: Mapping[str, Any], source: str | os.PathLike[str] | None = None) -> Choices:
    """The choices of a call; who made a recording is not known."""
    try:
        made = chosen(**choices)
    except TypeError as error:
        raise UsageError(str(error).partition(") ")[2] or str(error)) from error
    return made if source is None else replace(made, user=None)
