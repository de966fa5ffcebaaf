"""The views of a state: each is made when the policy asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.errors import UsageError
from rarmodel.model.interruptions import interrupts
from rarmodel.model.left import left_of
from rarmodel.model.lone import each_lone_options, lone_options
from rarmodel.model.ring_rates import each_paces, paces
from rarmodel.schema import Instance, Job

from .arriving_jobs import sizes_at_last
from .carry_out import asked_for
from .cluster_at_work import WorkingCluster
from .occupation import kept_beside
from .placement import Asked
from .problem import known_problem
from .shared_cluster import SharedCluster

Numbers = Ints | npt.NDArray[np.float64]
Speeds = Mapping[tuple[int, str | None], int]


class Views:
    """What `State` says of the jobs that are there; see there."""

    def __init__(self, cluster: WorkingCluster | SharedCluster) -> None:
        self._cluster = cluster
        self._speeds: dict[int, Speeds] = {}
        self._asks: dict[tuple[int, int], Asked] = {}
        self._on_type: dict[tuple[int, int], Mapping[str | None, int]] = {}
        self._beside: dict[tuple[int, frozenset[int], int], Mapping[str | None, int]] = {}
        self._capacity: Ints = cluster.room.capacity.copy()

    def of(
        self, active: Ints, completed: Numbers, *, is_round: bool
    ) -> dict[str, Callable[[], Any]]:
        """By name, what gives each view.

        Parameters
        ----------
        active
            Numbers of the jobs that are there.
        completed
            What complete jobs had attained.
        is_round
            Whether a round begins.
        """
        cluster = self._cluster
        instance, jobs, room = cluster.instance, cluster.jobs, cluster.room
        numbers = active.tolist

        @cache
        def sizes() -> Ints:
            self._look_at(room.capacity)
            held = cluster.held[active]
            return np.where(held > 0, held, jobs.size[active])

        def remaining() -> Ints:
            return -(-cluster.left(active) // jobs.speed[active])

        def speeds_beside(first: int, *others: int) -> Mapping[str | None, int]:
            rest = frozenset(int(active[other]) for other in others)
            return self._beside_on_types(int(active[first]), rest, int(sizes()[first]))

        def mates() -> tuple[frozenset[int], ...]:
            if not isinstance(cluster, SharedCluster):
                return (frozenset(),) * len(active)
            place = {k: at for at, k in enumerate(numbers())}
            return tuple(frozenset(place[other] for other in cluster.mates(k)) for k in place)

        def kept() -> npt.NDArray[np.float64]:
            return np.array(kept_beside(instance), np.float64)[jobs.index[active]]

        def problem() -> Instance:
            if isinstance(cluster, SharedCluster):
                raise UsageError(
                    "a policy asks for the problem, which where jobs share GPUs no policy sees"
                )
            return known_problem(cluster, active)

        def asks() -> tuple[Asked, ...]:
            return tuple(map(self._asked, numbers(), sizes().tolist()))

        return {
            "asks": asks,
            "interruptible": lambda: interrupts(instance),
            "preemptible": lambda: jobs.may_stop[active],
            "is_round": lambda: is_round,
            "problem": problem,
            "now": lambda: cluster.now,
            "slot_seconds": lambda: instance.time.slot_seconds,
            "cluster": lambda: instance.cluster,
            "number": active.copy,
            "release": lambda: jobs.release[active],
            "gpus": lambda: sizes().copy(),
            "sizes": lambda: tuple(jobs.sizes[k] for k in numbers()),
            "weight": lambda: jobs.weight[active],
            "priority": lambda: jobs.priority[active],
            "due": lambda: jobs.due[active],
            "deadline": lambda: jobs.deadline[active],
            "tenant": lambda: tuple(instance.jobs[j].tenant for j in jobs.index[active].tolist()),
            "running": lambda: cluster.holds[active],
            "held": lambda: cluster.held[active],
            "since": lambda: cluster.since[active],
            "attained": lambda: cluster.attained(active),
            "places": lambda: tuple(
                dict(cluster.stays[k].ring) if k in cluster.stays else {} for k in numbers()
            ),
            "speeds": lambda: tuple(map(self._speeds_of, numbers())),
            "speeds_beside": lambda: speeds_beside,
            "mates": mates,
            "kept_beside": kept,
            "type_speeds": lambda: tuple(map(self._on_types, numbers(), sizes().tolist())),
            "idle": lambda: np.maximum(room.idle, 0),
            "capacity": room.capacity.copy,
            "completed_service": completed.copy,
            "remaining": remaining,
            "length": lambda: jobs.length[active],
            "iterations": lambda: cluster.left(active),
        }

    def _asked(self, k: int, size: int) -> Asked:
        if (k, size) not in self._asks:
            instance, jobs = self._cluster.instance, self._cluster.jobs
            self._asks[k, size] = asked_for(instance, jobs, k, size, None)
        return self._asks[k, size]

    def _speeds_of(self, k: int) -> Speeds:
        """Iterations per slot alone in the best placement, by ring size and type of GPU."""
        if k not in self._speeds:
            unbegun, j = self._cluster.jobs.unbegun, int(self._cluster.jobs.index[k])
            options = lone_options(unbegun)[j]
            found: dict[tuple[int, str | None], int] = {}
            for shape, own in paces(unbegun)[j].items():
                speeds = (one.pace.speed(*one[1:3]) for one in options if one.pace == own)
                found[shape] = max(speeds, default=0)
            within = sizes_at_last(unbegun, j)
            small = {shape: speed for shape, speed in found.items() if shape[0] in within}
            self._speeds[k] = small or found
        return self._speeds[k]

    def _look_at(self, capacity: Ints) -> None:
        """Forget what was known of types of GPU if other GPUs are reserved now."""
        if not np.array_equal(capacity, self._capacity):
            self._capacity, self._on_type, self._beside = capacity.copy(), {}, {}

    def _on_types(self, k: int, size: int) -> Mapping[str | None, int]:
        """Iterations per slot alone on GPUs of one type that are not reserved, by type."""
        if (k, size) not in self._on_type:
            self._on_type[k, size] = self._speeds_on_types(k, size)
        return self._on_type[k, size]

    def _beside_on_types(
        self, k: int, others: frozenset[int], size: int
    ) -> Mapping[str | None, int]:
        """Iterations per slot beside other jobs on GPUs of one type, by type."""
        key = k, others, size
        if key not in self._beside:
            self._beside[key] = self._speeds_beside(k, others, size)
        return self._beside[key]

    def _speeds_beside(self, k: int, others: frozenset[int], size: int) -> Mapping[str | None, int]:
        cluster = self._cluster
        alone = self._on_types(k, size)
        if not isinstance(cluster, SharedCluster):
            return dict.fromkeys(alone, 0)
        j = int(cluster.jobs.index[k])
        shapes, options = paces(cluster.jobs.unbegun)[j], lone_options(cluster.jobs.unbegun)[j]
        types = cluster.types_of_all([k, *others])
        found = {}
        for kind, speed in alone.items():
            own = shapes.get((size, kind), shapes.get((size, None)))
            # What it loses of its best speed it loses of that on this type.
            beside = [
                one.pace.beside(cluster.gpus.load(k, others)).speed(*one[1:3])
                for one in options
                if one.pace == own
            ]
            found[kind] = min(speed, max(beside, default=0)) if kind in types else 0
        return found

    def _speeds_on_types(self, k: int, size: int) -> Mapping[str | None, int]:
        instance, jobs = self._cluster.instance, self._cluster.jobs
        servers = instance.cluster.servers
        job = instance.jobs[int(jobs.index[k])]
        names: dict[str | None, list[str]] = {server.gpu_type: [] for server in servers}
        there = dict.fromkeys(names, 0)
        for s, server in enumerate(servers):
            if jobs.allowed[jobs.row[k], s] and self._capacity[s] > 0:
                names[server.gpu_type].append(server.name)
                there[server.gpu_type] += int(self._capacity[s])
        found = {}
        limited = job.servers is not None or job.spread is not None or job.memory_gb
        plain = not (limited or jobs.stalls[k])
        for kind, some in names.items():
            found[kind] = 0
            if size > there[kind]:
                continue
            if plain:  # It has a place wherever there is room, and is as fast as elsewhere.
                shapes = self._speeds_of(k)
                found[kind] = shapes.get((size, kind), shapes.get((size, None), 0))
            else:
                found[kind] = self._best_speed(job, size, some)
        return found

    def _best_speed(self, job: Job, size: int, servers: list[str]) -> int:
        """Iterations per slot alone in a ring of a size on some servers of which some are idle."""
        instance = self._cluster.instance
        pairs = zip(instance.cluster.servers, self._capacity.tolist(), strict=True)
        left = left_of(instance.cluster, {one.name: one.gpus - gpus for one, gpus in pairs})
        update = {"gpus": (size,), "servers": tuple(servers), "running": None}
        alone = instance.model_copy(
            update={
                "cluster": left.cluster,
                "preemption": None,
                "jobs": (job.model_copy(update=update),),
            }
        )
        options = next(each_lone_options(alone, each_paces(alone)))
        return max((one.pace.speed(one.servers, one.gbps) for one in options), default=0)
