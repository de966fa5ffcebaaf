"""What single jobs of wider instances ask for: when, and on which servers (sections 9 and 18)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rarmodel.schema import Held, Instance, Job

from .report import Violation
from .simulation_result import Run


def asks_for_places(job: Job) -> bool:
    """Whether a job may not run on any GPUs that are idle."""
    plain = job.servers is None and job.times is None and job.spread is None
    return not plain or job.running is not None


def placement_demands(
    instance: Instance, servers: Mapping[str, int], job: Job, segment: Held
) -> Iterator[Violation]:
    """Servers are among those allowed, in number and type, and as near as asked for.

    Parameters
    ----------
    instance
        The problem.
    servers
        Index of each server by name.
    job, segment
        A job and where it runs, on servers and GPUs that exist.
    """
    slot = segment.start
    used = {name: len(gpus) for name, gpus in segment.gpus.items() if gpus}
    for name in used:
        if job.servers is not None and name not in job.servers:
            message = f"job {job.name!r} is on server {name!r}, which is none of its servers"
            yield Violation("servers", job.name, name, slot, message)
        kind = instance.cluster.servers[servers[name]].gpu_type
        if job.times is not None and kind not in job.times:
            message = f"job {job.name!r} is on server {name!r}, whose GPUs ({kind}) it cannot use"
            yield Violation("type", job.name, name, slot, message)
    if spread := job.spread:
        most = spread.max_servers
        if len(used) < spread.min_servers or (most is not None and len(used) > most):
            wanted = f"{spread.min_servers} to {'any number' if most is None else most}"
            message = f"job {job.name!r} is on {len(used)} servers; it asks for {wanted}"
            yield Violation("spread", job.name, None, slot, message)
        if spread.equal and len(set(used.values())) > 1:
            message = (
                f"job {job.name!r} holds {min(used.values())} to {max(used.values())} GPUs by "
                "server; it asks for the same number on each"
            )
            yield Violation("spread", job.name, None, slot, message)
        if spread.within is not None:
            yield from _within_one_node(instance, job, spread.within, used, slot)


def _within_one_node(
    instance: Instance, job: Job, level: str, used: Mapping[str, int], slot: int
) -> Iterator[Violation]:
    """All servers of a ring lie at or below one node of a level (section 18)."""
    network = instance.cluster.network
    uplinks = {} if network.kind == "star" else {link.node: link for link in network.links}
    nodes: set[str] = set()
    for name in used:
        node = name
        while node in uplinks and uplinks[node].level != level:
            node = uplinks[node].parent
        if node in uplinks:
            nodes.add(node)
        else:
            message = (
                f"job {job.name!r} is on server {name!r}, which lies below no {level}; "
                f"it asks for one {level}"
            )
            yield Violation("within", job.name, name, slot, message)
    if len(nodes) > 1:
        below = ", ".join(map(repr, sorted(nodes)))
        message = f"job {job.name!r} is below {below}; it asks for one {level}"
        yield Violation("within", job.name, None, slot, message)


def time_demands(runs: Sequence[Run], ends: Sequence[int | None]) -> Iterator[Violation]:
    """Jobs start after their release and the jobs they wait for, and complete by their deadline.

    Parameters
    ----------
    runs
        Jobs and their start slots.
    ends
        Completion times in slots; None for a run in which its job does not complete.
    """
    completion: dict[str, int | None] = {}
    if any(run.job.after for run in runs):
        for run, end in zip(runs, ends, strict=True):
            if completion.get(run.job.name) is None:
                completion[run.job.name] = end
    for run, end in zip(runs, ends, strict=True):
        job, start = run.job, run.start
        begins = run.follows is None
        if begins and start < job.release:
            message = f"job {job.name!r} starts at slot {start}; it is released at {job.release}"
            yield Violation("release", job.name, None, start, message)
        if job.deadline is not None and end is not None and end > job.deadline:
            message = f"job {job.name!r} completes at slot {end}, past its deadline {job.deadline}"
            yield Violation("deadline", job.name, None, max(start, job.deadline), message)
        for name in job.after if begins else ():
            before = completion.get(name, 0)
            if before is None or start < before:
                until = "never completes" if before is None else f"completes at slot {before}"
                message = f"job {job.name!r} starts at slot {start}, after {name!r}, which {until}"
                yield Violation("after", job.name, None, start, message)
