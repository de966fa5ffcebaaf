"""Running jobs that give way to urgent ones: Slurm interrupts them, and rarmodel reads them so.

An urgent job, of a higher tier or a QOS that preempts, starts at once where jobs that Slurm may
interrupt leave it room. Which these are is chosen before the plan, as Slurm chooses: those of least
priority, and no more than are needed. Jobs on parts of GPUs are not among them, on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from .partitions import BY_QOS, outranks
from .queue import Queue
from .requests import Request, UnusableError, request_of
from .slurm_jobs import SlurmJob
from .slurm_values import value


class Given(NamedTuple):
    """A running job that gives way: to which job, and what Slurm does to it."""

    to: str
    mode: str


def mode_against(queue: Queue, high: SlurmJob, low: SlurmJob) -> str:
    """What Slurm does to a job to start another, such as `REQUEUE`; empty if it lets it run."""
    if not queue.preempts:
        return ""
    if queue.preempt_type == BY_QOS:
        names = value(high.record, "QOS"), value(low.record, "QOS")
        above, below = (queue.qos.get(name) for name in names)
        if above is None or below is None or names[1] not in above.preempts:
            return ""
        return queue.preempt_mode if below.mode is None else below.mode
    known = queue.partitions
    pairs = [
        (known[first], known[second])
        for first in high.partitions
        for second in low.partitions
        if first in known and second in known
    ]
    return next((second.mode for first, second in pairs if outranks(first, second)), "")


def rank(queue: Queue, job: SlurmJob) -> tuple[int, int]:
    """What goes before all priorities: the tier, and the priority of a QOS that preempts."""
    tiers = [queue.partitions[name].tier for name in job.partitions if name in queue.partitions]
    qos = queue.qos.get(value(job.record, "QOS"))
    by_qos = queue.preempt_type == BY_QOS and qos is not None and bool(qos.preempts)
    return max(tiers, default=1), qos.priority if by_qos and qos else 0


def giving_way(queue: Queue, waiting: Iterable[SlurmJob]) -> dict[str, Given]:
    """The running jobs that give way to waiting ones, by id.

    Parameters
    ----------
    queue
        The queue.
    waiting
        The waiting jobs that may start now, as Slurm ranks them.
    """
    found: dict[str, Given] = {}
    if not queue.preempts:
        return found
    free = {name: 0 if node.away else node.gpus - node.used for name, node in queue.nodes.items()}
    for one in queue.reserved:
        if one.start <= queue.now and (one.end is None or one.end > queue.now):
            free |= dict.fromkeys(set(one.nodes) & free.keys(), 0)
    jobs = queue.jobs.values()
    running = [job for job in jobs if job.state == "RUNNING" and job.held and not job.slices]
    for job in waiting:
        low = {one.id: mode for one in running if (mode := mode_against(queue, job, one))}
        if not low or not _may_start(job, queue):
            continue
        try:
            request = request_of(job, queue)
        except UnusableError:
            continue
        if request.part is not None:
            continue
        candidates = [one for one in running if one.id in low and one.id not in found]
        chosen = _chosen(request, free, candidates)
        if chosen is None:
            continue
        victims, place = chosen
        for victim in victims:
            found[victim.id] = Given(job.id, low[victim.id])
            free = _with(free, victim)
        free = {name: gpus - place.get(name, 0) for name, gpus in free.items()}
    return found


def _may_start(job: SlurmJob, queue: Queue) -> bool:
    """Whether nothing but room keeps a job from its start."""
    eligible = job.moment("EligibleTime")
    return not value(job.record, "Dependency") and (eligible is None or eligible <= queue.now)


def _chosen(
    request: Request, free: Mapping[str, int], candidates: list[SlurmJob]
) -> tuple[list[SlurmJob], dict[str, int]] | None:
    """The jobs that must give way, and GPUs by node then; None if all together leave no room."""
    victims = list[SlurmJob]()
    room = dict(free)
    for one in sorted(candidates, key=lambda one: (one.priority, _reversed(one))):
        if _place(request, room) is not None:
            break
        if {*one.held} & {*request.nodes}:
            victims.append(one)
            room = _with(room, one)
    if _place(request, room) is None:
        return None
    for one in [*victims]:
        less = {name: gpus - len(one.held.get(name, ())) for name, gpus in room.items()}
        if _place(request, less) is not None:
            victims.remove(one)
            room = less
    return victims, _place(request, room) or {}


def _reversed(job: SlurmJob) -> float:
    """Later starts first."""
    start = job.moment("StartTime")
    return 0.0 if start is None else -start.timestamp()


def _with(free: Mapping[str, int], job: SlurmJob) -> dict[str, int]:
    return {name: gpus + len(job.held.get(name, ())) for name, gpus in free.items()}


def _place(request: Request, free: Mapping[str, int]) -> dict[str, int] | None:
    """GPUs by node for the least ring that has room in free GPUs, on the fewest nodes; or None."""
    for size in request.sizes:
        for n in range(request.least_nodes, min(request.most_nodes or size, size) + 1):
            if request.is_equal:
                each = size // n
                fitting = [name for name in request.nodes if free[name] >= each]
                if size % n == 0 and len(fitting) >= n:
                    fullest = sorted(fitting, key=lambda name: free[name])
                    return dict.fromkeys(fullest[:n], each)
            else:
                most = sorted(request.nodes, key=lambda name: -free[name])[:n]
                if sum(free[name] for name in most) >= size:
                    return _filled(size, {name: free[name] for name in most})
    return None


def _filled(size: int, free: Mapping[str, int]) -> dict[str, int]:
    """So many GPUs of nodes, the freest first."""
    found: dict[str, int] = {}
    for name, gpus in free.items():
        found[name] = min(gpus, size - sum(found.values()))
    return found


def without_given(queue: Queue, given: Mapping[str, Given]) -> Queue:
    """The queue as it is when these jobs have given way: they wait again, or are gone.

    A requeued job begins anew on any nodes that it asks for; a suspended one goes on where it was.
    """
    jobs, nodes = dict(queue.jobs), dict(queue.nodes)
    for name, one in given.items():
        job = jobs.pop(name)
        for node, gpus in job.held.items():
            nodes[node] = nodes[node]._replace(used=nodes[node].used - len(gpus))
        if "CANCEL" not in one.mode:
            jobs[name] = job._replace(record=_waiting_again(job, one, queue), held={})
    return queue._replace(jobs=jobs, nodes=nodes)


def _waiting_again(job: SlurmJob, given: Given, queue: Queue) -> dict[str, str]:
    now = f"{queue.now:%Y-%m-%dT%H:%M:%S}"
    record = {**job.record, "JobState": "PENDING", "SubmitTime": now, "EligibleTime": now}
    record |= {"Dependency": "(null)", "Deadline": "N/A"}
    if "SUSPEND" in given.mode:
        record["ReqNodeList"] = value(job.record, "NodeList")
        end = job.moment("EndTime")
        if end is not None and job.seconds("TimeLimit") is not None:
            left = max(end - queue.now, timedelta(seconds=1))
            record["TimeLimit"] = _told(left)
    return record


def _told(length: timedelta) -> str:
    """A length of time as Slurm writes it."""
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"


def verb_of(mode: str) -> str:
    """What Slurm does to a job that gives way, as a verb."""
    words = {"CANCEL": "cancels", "SUSPEND": "suspends"}
    return next((verb for word, verb in words.items() if word in mode), "requeues")
