"""Hand a plan back: run its commands, and see that Slurm took them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

from rarmodel.errors import listed

from .applying import LEAD_SECONDS, Applied
from .plan_changes import Command, Handed
from .program_outputs import Run, SlurmError, live
from .queue import queue_of
from .slurm_jobs import SlurmJob
from .slurm_values import gpus_in, value


def carried_out(applied: Applied, run: Run, tell: Callable[[str], None] | None = None) -> Applied:
    """Run the commands in order of start, read back, and compare.

    A job whose update Slurm refuses is not released, and gets its former request back. An
    interruption leaves every job either held or handed back.

    Parameters
    ----------
    run
        Runs a command, as `outputs.run` does.
    tell
        Is told each command before it runs.
    """
    done, differences, released = list[Command](), list[str](), list[Handed]()

    def succeeds(command: Command) -> bool:
        if tell is not None:
            tell(shlex.join(command))
        done.append(command)
        try:
            run(command)
        except SlurmError as error:
            differences.append(str(error))
            return False
        return True

    former = {one.job: one for one in applied.former}
    for one in applied.plan:
        if not succeeds(one.wait()):
            continue  # It no longer waits, and is as it was.
        if succeeds(one.update()) and succeeds(one.release()):
            released.append(one)
        elif one.job in former:  # Slurm may have taken some settings of an update that it refused.
            all(map(succeeds, former[one.job].commands()))
    queue = queue_of(live(run))
    for one in released:
        job = queue.jobs.get(one.job) or queue.ended.get(one.job)
        differences += [f"job {one.job}: {told}" for told in _differences(one, job)]
    return replace(applied, commands=tuple(done), differences=tuple(differences))


def _differences(one: Handed, job: SlurmJob | None) -> Iterator[str]:
    """How a job differs from what was handed back."""
    if job is None:
        yield "is gone"
        return
    waits = job.state == "PENDING"
    gpus = sum(gpus_in(value(job.record, "TresPerNode")).values())
    counts = {len(held) for held in job.held.values()}
    if {*job.nodes} != {*one.nodes}:
        yield f"is on nodes {listed(job.nodes)}; {listed(one.nodes)} were planned"
    by_node = one.per_node is not None and not (one.is_part or (waits and one.by_task))
    if by_node and (counts or {gpus}) != {one.per_node}:
        yield f"has {gpus} GPUs on each node; {one.per_node} were planned"
    if waits and job.is_held:
        yield "is still held"
    start = job.moment("StartTime")
    if not waits and start and start < one.start - timedelta(seconds=LEAD_SECONDS):
        yield f"started at {start:%H:%M:%S}; {one.start:%H:%M:%S} was planned"
    eligible = job.moment("EligibleTime")
    if waits and eligible and eligible < one.start.replace(microsecond=0):
        yield f"may start at {eligible:%H:%M:%S}; {one.start:%H:%M:%S} was planned"
