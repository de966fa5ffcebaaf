"""What a list schedule must know of an instance, laid out for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine import Placements
from rarmodel.engine.arrays import NEVER, Arrays, Floats, Ints, arrays_of
from rarmodel.engine.modes import Modes, modes_of
from rarmodel.model import job_extremes
from rarmodel.model.usage_limits import limits_of_jobs
from rarmodel.schema import Instance

from .capacity_profile import CapacityProfile, capacity_profile
from .gpu_places import GpuPlaces, gpu_places, in_ways, with_pins
from .offsets import ints, offsets
from .placement_options import PlacementOptions, placement_options
from .server_groups import ServerGroups, server_groups


class InstanceArrays(NamedTuple):
    """An instance; nothing here changes."""

    engine: Arrays
    """The same as the engine sees it."""
    modes: Modes
    """How to find a ring's mode."""
    compute: Floats
    """(modes) Seconds of forward and backward pass in an iteration."""
    groups: ServerGroups
    """The servers below each switch."""
    options: PlacementOptions
    """The ways to place each job."""
    release: Ints
    """(jobs) First slot in which each may start."""
    least_slots: Ints
    """(jobs) Slots that each takes alone, at best."""
    deadline: Ints
    """(jobs) Slot by which each must complete; NEVER if there is none."""
    follower_at: Ints
    """(jobs + 1) Offsets into `follower`."""
    follower: Ints
    """Jobs that wait for each job."""
    waits_for: Ints
    """(jobs) How many jobs each waits for."""
    use_at: Ints
    """(jobs + 1) Offsets into the next three: what each job uses beside GPUs of servers."""
    use_supply: Ints
    """The supply: a resource, or the cap of a tenant."""
    use_of_job: Ints
    """How much the job uses of it as a whole."""
    use_of_gpu: Ints
    """How much each of its workers uses beside that."""
    server_gpus: Ints
    """(servers) GPUs of each server, O_s."""
    supplies: CapacityProfile
    """How much there is of each supply, and when: servers, then what `use_supply` names."""
    fewest: Ints
    """(jobs) Fewest servers of a ring that spreads, at least 2."""
    most: Ints
    """(jobs) Most servers."""
    equal: npt.NDArray[np.bool_]
    """(jobs) Whether each server has as many of the ring's GPUs."""
    running_at: Ints
    """(jobs + 1) Offsets into the next two; empty for jobs that do not run at slot 0."""
    running_server: Ints
    """Servers of each running job."""
    running_workers: Ints
    """GPUs held there."""
    place_at: Ints
    """(jobs + 1) Offsets of what each job holds in `PartialSchedule`."""
    alike: Ints
    """(jobs) Equal for jobs that may take each other's places: same sizes, servers and types."""
    pin_at: Ints
    """(pins + 1) Offsets into the next two: exact places of rings; see `pinned`."""
    pin_server: Ints
    """Servers of each pin."""
    pin_workers: Ints
    """Workers on each of them."""
    places: GpuPlaces | None
    """GPUs, where jobs share some; else None."""
    on_servers: int | None
    """None where jobs share GPUs; else 1, as servers then are numbers of idle GPUs."""
    guarded: int
    """1 if a start may break what was promised: a deadline, or a capacity that falls."""
    can_stall: int
    """1 if, besides, the speed of some ring may be 0."""


def instance_arrays(instance: Instance) -> InstanceArrays:
    """Lay an instance out."""
    jobs, cluster = instance.jobs, instance.cluster
    servers = len(cluster.servers)
    index = {job.name: j for j, job in enumerate(jobs)}
    number = {server.name: s for s, server in enumerate(cluster.servers)}
    supplies, uses = capacity_profile(instance), limits_of_jobs(instance)
    followers: list[list[int]] = [[] for _ in jobs]
    for j, job in enumerate(jobs):
        for name in set(job.after):
            followers[index[name]].append(j)
    held = [job.running.gpus if job.running else {} for job in jobs]
    spread = [job.spread for job in jobs]
    guarded = len(supplies.slot) > 0 or any(job.deadline is not None for job in jobs)
    kinds: dict[object, int] = {}
    alike = [
        kinds.setdefault(
            (
                *(job.sizes, job.servers, job.spread, tuple(job.times or ())),
                *(job.slices, job.memory_gb),
            ),
            len(kinds),
        )
        for job in jobs
    ]
    engine, groups = arrays_of(instance), server_groups(instance)
    options, ways = placement_options(instance, groups), ints(())
    if engine.gpus is not None:
        options, ways = in_ways(instance, options)
    return InstanceArrays(
        engine=engine,
        modes=modes_of(instance),
        compute=np.ascontiguousarray(engine.modes["compute"]),
        groups=groups,
        options=options,
        release=ints(max(0, job.release) for job in jobs),
        least_slots=ints(one.least_slots for one in job_extremes(instance)),
        deadline=ints(NEVER if job.deadline is None else job.deadline for job in jobs),
        follower_at=offsets(map(len, followers)),
        follower=ints(job for each in followers for job in each),
        waits_for=ints(len(set(job.after)) for job in jobs),
        use_at=offsets(map(len, uses)),
        use_supply=ints(servers + i for each in uses for i in each),
        use_of_job=ints(use.of_job for each in uses for use in each.values()),
        use_of_gpu=ints(use.of_gpu for each in uses for use in each.values()),
        server_gpus=ints(server.gpus for server in cluster.servers),
        supplies=supplies,
        fewest=ints(max(2, one.min_servers) if one else 2 for one in spread),
        most=ints((one.max_servers if one else None) or servers for one in spread),
        equal=np.array([one is not None and one.equal for one in spread], np.bool_),
        running_at=offsets(map(len, held)),
        running_server=ints(number[name] for each in held for name in each),
        running_workers=ints(len(gpus) for each in held for gpus in each.values()),
        place_at=offsets(
            min(job.sizes[-1], servers) + len(each) for job, each in zip(jobs, uses, strict=True)
        ),
        alike=ints(alike),
        pin_at=np.zeros(1, np.int64),
        pin_server=np.zeros(0, np.int64),
        pin_workers=np.zeros(0, np.int64),
        places=gpu_places(instance, engine, groups, options, ways),
        on_servers=1 if engine.gpus is None else None,
        guarded=int(guarded),
        can_stall=int(guarded and any(one.worst_speed == 0 for one in job_extremes(instance))),
    )


def pinned(
    instance: InstanceArrays, places: Placements, gpus: Sequence[Sequence[int]] = ()
) -> InstanceArrays:
    """The same with a pin for each job: choice −1 − j then puts a ring where job j's ring is.

    Parameters
    ----------
    instance
        The instance.
    places
        Where each job's ring is in some schedule. It may go to any job that is `alike`.
    gpus
        (jobs) Its GPUs by number, where jobs share GPUs.
    """
    return instance._replace(
        pin_at=places.at,
        pin_server=places.server,
        pin_workers=places.workers,
        places=with_pins(instance.places, gpus),
    )
