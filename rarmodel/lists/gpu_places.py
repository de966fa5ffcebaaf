"""What a list schedule must know of GPUs that jobs share, and who is on them.

Where jobs share GPUs, the number of idle GPUs of a server says little. So GPUs are told apart here,
and each job has a few ways to meet others on them. Of an instance that shares no GPU,
`InstanceArrays.places` and `PartialSchedule.room` are None, and nothing of this is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Arrays, Floats, Ints
from rarmodel.engine.gpu_loads import SharedGpus
from rarmodel.model.gpu_sharing import losses, memory_units
from rarmodel.model.ring_rates import each_paces
from rarmodel.model.usage_limits import limits_of_jobs
from rarmodel.schema import Instance

from .offsets import ints, offsets
from .placement_options import ANY, EMPTIEST, PACK, PlacementOptions
from .server_bits import as_truths
from .server_groups import ServerGroups

Flags = npt.NDArray[np.bool_]

LEAST, ALONE, BESIDE, JOIN = range(4)
"""Whom a job meets on its GPUs when it starts.

LEAST: nobody, or else those beside whom all together lose least, if sharing gains anything at all.
ALONE: nobody.
BESIDE: nobody, or else those beside whom all lose least, at any price.
JOIN: those beside whom all lose least, at any price; or else nobody.
"""
WAYS = LEAST, ALONE, BESIDE, JOIN
STYLES = PACK, EMPTIEST, ANY
"""Styles of placement where GPUs are shared: rings that avoid each other on links do not differ."""
UNLIMITED = 2**62
"""Memory of a GPU of which nothing is said."""
LEFT, PASS_NUMBER, NEXT, STAMP = range(4)
"""Of `GpuRoom.counters`: jobs not yet started; passes over them; the next slot from which one of
them may start; choices of GPUs on a server so far."""


class GpuPlaces(NamedTuple):
    """The GPUs, and the ways of jobs; nothing here changes."""

    memory: Ints
    """(servers) Memory of each GPU; UNLIMITED if it has no limit."""
    need: Ints
    """(jobs) Memory that each worker needs."""
    passes: Floats
    """(jobs) Forward and backward pass, as a part of an iteration alone on one server."""
    use_of_gpu: Ints
    """(as `InstanceArrays.use_supply`, servers) How much each worker uses, by where it is."""
    way: Ints
    """(options) Whom a job meets there."""
    form: Ints
    """(options) Equal for options that ask for the same."""
    forms: int
    """How many different ones there are."""
    allowed: Flags
    """(sets, servers) `PlacementOptions.sets`."""
    below: Flags
    """(groups, servers) `ServerGroups.words`."""
    running_at: Ints
    """(jobs + 1) Offsets into the next one; empty for jobs that do not run at slot 0."""
    running: Ints
    """GPUs of each running job, by number."""
    pin_at: Ints
    """(pins + 1) Offsets into the next one."""
    pin: Ints
    """GPUs of each pin, by number."""


class GpuRoom(NamedTuple):
    """Who is on which GPU; `gpu_decoding` keeps it."""

    counters: Ints
    """LEFT, PASS_NUMBER, NEXT and STAMP."""
    slices: Ints
    """(GPUs) Slices that are taken."""
    memory: Ints
    """(GPUs) Memory that is taken."""
    users: Ints
    """(2, GPUs) Jobs there, and of these, jobs that ran at slot 0 already."""
    used: Ints
    """(2, servers) GPUs with others only, and GPUs with a job that ran at slot 0."""
    trial_users: Ints
    """(2, GPUs) The same, in a projection."""
    trial_used: Ints
    """(2, servers) The same, in a projection."""
    ready: Ints
    """(jobs) Slot from which each may start; NEVER while it waits for another job."""
    line: Ints
    """(jobs) Jobs not yet started, the most urgent first."""
    failed: Ints
    """(forms) The pass in which there was no room."""
    score: Floats
    """(GPUs) Scratch: what a job loses there, and others with it; infinite if it has no room."""
    rooms: Ints
    """(servers) Scratch: GPUs on which it has room."""
    stamp: Ints
    """(GPUs) Scratch: the last choice in which a GPU was chosen."""


def in_ways(instance: Instance, options: PlacementOptions) -> tuple[PlacementOptions, Ints]:
    """Options by the ways of jobs to meet others, and the way of each.

    A job that takes whole GPUs meets nobody.
    """
    rows, ways, counts = [], [], []
    for j, job in enumerate(instance.jobs):
        own = [
            (row, way)
            for row in range(options.at[j], options.at[j + 1])
            if options.style[row] in STYLES
            for way in ((ALONE,) if job.slices is None else WAYS)
        ]
        rows += [row for row, _ in own]
        ways += [way for _, way in own]
        counts.append(len(own))
    of_option = {
        name: getattr(options, name)[rows]
        for name in ("size", "style", "packs", "allowed", "fewest", "queue")
    }
    return options._replace(at=offsets(counts), **of_option), ints(ways)


def gpu_places(
    instance: Instance,
    engine: Arrays,
    groups: ServerGroups,
    options: PlacementOptions,
    ways: Ints,
) -> GpuPlaces | None:
    """Lay the GPUs of an instance out; None if none is shared.

    Parameters
    ----------
    instance, engine, groups
        The problem, the same as the engine sees it, and its groups of servers.
    options, ways
        Options of jobs and their ways; see `in_ways`.
    """
    if engine.gpus is None:
        return None
    servers = len(instance.cluster.servers)
    memory, classes = memory_units(instance), losses(instance)
    alike = [
        (job.slices, memory.of_job[j], classes.column[j], classes.row[j])
        for j, job in enumerate(instance.jobs)
    ]
    of_job = np.repeat(np.arange(len(instance.jobs)), np.diff(options.at)).tolist()
    asked = [
        (queue, way, *alike[j])
        for j, queue, way in zip(of_job, options.queue.tolist(), ways.tolist(), strict=True)
    ]
    forms = {key: form for form, key in enumerate(dict.fromkeys(asked))}
    held = [_running_gpus(instance, engine.gpus, j) for j in range(len(instance.jobs))]
    return GpuPlaces(
        memory=ints(UNLIMITED if one is None else one for one in memory.of_server),
        need=ints(memory.of_job),
        passes=np.fromiter(_passes(instance), np.float64),
        use_of_gpu=_uses(instance),
        way=ways,
        form=ints(forms[key] for key in asked),
        forms=len(forms),
        allowed=as_truths(options.sets, servers),
        below=as_truths(groups.words, servers),
        running_at=offsets(map(len, held)),
        running=ints(gpu for each in held for gpu in each),
        pin_at=np.zeros(1, np.int64),
        pin=np.zeros(0, np.int64),
    )


def _running_gpus(instance: Instance, gpus: SharedGpus, job: int) -> list[int]:
    running = instance.jobs[job].running
    if running is None:
        return []
    number = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    return [
        int(gpus.first[number[name]]) + gpu for name, own in running.gpus.items() for gpu in own
    ]


def _uses(instance: Instance) -> Ints:
    """What `GpuPlaces.use_of_gpu` is: a worker with slices uses that part of a GPU."""
    servers = range(len(instance.cluster.servers))
    rows = [
        [use.of_gpu if use.by_server is None else use.by_server.get(s, 0) for s in servers]
        for uses in limits_of_jobs(instance)
        for use in uses.values()
    ]
    return np.array(rows, np.int64).reshape(-1, len(servers))


def _passes(instance: Instance) -> Iterator[float]:
    """What `GpuPlaces.passes` is, of each job: in its first form, within a server."""
    gbps = instance.cluster.intra_server_gbps
    for own in each_paces(instance):
        pace = next(iter(own.values()))
        yield pace.compute / pace.seconds(1, gbps)


def new_room(places: GpuPlaces | None, engine: Arrays) -> GpuRoom | None:
    """Memory for one thread; None if no GPU is shared."""
    if places is None:
        return None
    jobs, servers, gpus = len(places.need), len(places.memory), int(engine.server_gpus.sum())

    def zeros(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return GpuRoom(
        counters=zeros(4),
        slices=zeros(gpus),
        memory=zeros(gpus),
        users=zeros(2, gpus),
        used=zeros(2, servers),
        trial_users=zeros(2, gpus),
        trial_used=zeros(2, servers),
        ready=zeros(jobs),
        line=zeros(jobs),
        failed=zeros(places.forms),
        score=np.zeros(gpus),
        rooms=zeros(servers),
        stamp=zeros(gpus),
    )


def with_pins(places: GpuPlaces | None, gpus: Sequence[Sequence[int]]) -> GpuPlaces | None:
    """The same with a pin for each job on GPUs that are told by number."""
    if places is None:
        return None
    return places._replace(
        pin_at=offsets(map(len, gpus)), pin=ints(gpu for own in gpus for gpu in own)
    )
