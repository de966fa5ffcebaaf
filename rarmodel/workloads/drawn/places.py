"""Where jobs may run and how fast: types of GPU, rates, ring sizes, server lists, spreads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from rarmodel.model import features, lone_options
from rarmodel.model.lone import allowed_servers
from rarmodel.schema import Instance, Job
from rarmodel.schema.base import Count, Name
from rarmodel.schema.job import GpuTimes, Spread
from rarmodel.schema.references import has_room

from .feature import Drawn, Factors, Rng, Share, changed, drawn_from, progress, progressing, some

Kind = Literal["together", "apart", "equal"]

_SEVERAL = BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
"""One name stands for a list of it."""


class GpuTypes(Drawn):
    """Servers have GPUs of several types, and jobs compute faster on some."""

    name: ClassVar[str] = features.GPU_TYPES.name

    types: Annotated[tuple[Name, ...], _SEVERAL, Field(min_length=1)] = ("V100", "A100")
    """Types, the slowest first; servers have them in equal numbers, in random order."""

    speedup: Factors = (1.5, 2.5)
    """How many times faster a job computes on a type than on the one before, for each job."""

    pinned: Share = 0.0
    """Part of the jobs that run on one type only."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give every server a type and every job its times."""
        servers = instance.cluster.servers
        kinds = [self.types[k % len(self.types)] for k in range(len(servers))]
        order = rng.permutation(len(servers)).tolist()
        typed = tuple(
            server.model_copy(update={"gpu_type": kinds[k]})
            for server, k in zip(servers, order, strict=True)
        )
        there = [kind for kind in dict.fromkeys(self.types) if kind in kinds]
        room = {kind: sum(s.gpus for s in typed if s.gpu_type == kind) for kind in there}
        pinned = set(some(rng, range(len(instance.jobs)), self.pinned))
        updates = {}
        for j, job in enumerate(instance.jobs):
            factors = drawn_from(rng, self.speedup, len(there) - 1)
            times = dict(zip(there, _times(job, factors), strict=True))
            one = there[int(rng.integers(len(there)))]
            if j in pinned and room[one] >= job.sizes[-1]:
                times = {one: times[one]}
            updates[j] = {"times": times, "forward_ms_per_sample": None, "backward_ms": None}
        cluster = instance.cluster.model_copy(update={"servers": typed})
        return changed(instance.model_copy(update={"cluster": cluster}), updates)


def _times(job: Job, factors: list[float]) -> list[GpuTimes]:
    """Times of a job on each type, the slowest first: that has the job's own."""
    forward, backward = job.milliseconds()
    times = [GpuTimes(forward_ms_per_sample=forward, backward_ms=backward)]
    for factor in factors:
        forward, backward = round(forward / factor, 6), max(0.001, round(backward / factor, 4))
        times.append(GpuTimes(forward_ms_per_sample=forward, backward_ms=backward))
    return times


class ServerRates(Drawn):
    """Servers have bandwidths of their own: none slower where a job could not go on at all."""

    name: ClassVar[str] = features.SERVER_RATES.name

    share: Share = 0.5
    """Part of the servers."""

    factor: Factors = (0.5, 2.0)
    """Their bandwidth divided by the cluster's."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give some servers a bandwidth of their own."""
        chosen = some(rng, range(len(instance.cluster.servers)), self.share)
        factors = dict(zip(chosen, drawn_from(rng, self.factor, len(chosen)), strict=True))
        rated = _rated(instance, factors)
        if not all(progress(rated)):
            faster = {s: factor for s, factor in factors.items() if factor >= 1}
            return _rated(instance, faster)
        return rated


def _rated(instance: Instance, factors: Mapping[int, float]) -> Instance:
    servers = list(instance.cluster.servers)
    for s, factor in factors.items():
        gbps = float(f"{factor * instance.cluster.intra_server_gbps:.4g}")
        servers[s] = servers[s].model_copy(update={"intra_server_gbps": gbps})
    cluster = instance.cluster.model_copy(update={"servers": tuple(servers)})
    return instance.model_copy(update={"cluster": cluster})


class RingSizes(Drawn):
    """Jobs are moldable: halves and doubles of their rings are allowed too."""

    name: ClassVar[str] = features.RING_SIZES.name

    share: Share = 0.25
    """Part of the jobs that are moldable."""

    steps: Annotated[int, Field(strict=True, ge=1, le=20)] = 1
    """How many times a ring may be halved, and doubled."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give some jobs several sizes: those that servers have room for, with progress."""
        updates: dict[int, dict[str, Any]] = {}
        for j in some(rng, range(len(instance.jobs)), self.share):
            job = instance.jobs[j]
            servers = allowed_servers(instance)[j]
            room = sum(instance.cluster.servers[s].gpus for s in servers)
            own = job.size
            smaller = [own >> k for k in range(1, self.steps + 1) if own % (1 << k) == 0]
            larger = [own << k for k in range(1, self.steps + 1) if own << k <= room]
            updates[j] = {
                "gpus": tuple(sorted([*smaller, own, *larger])),
                "global_batch_size": job.samples(own) * own,
                "batch_size": None,
            }
        drafted = changed(instance, updates)
        for j, update in updates.items():
            usable = {
                option.pace.size
                for option in lone_options(drafted)[j]
                if option.pace.speed(option.servers, option.gbps)
            }
            update["gpus"] = tuple(size for size in drafted.jobs[j].sizes if size in usable)
        several = {j: update for j, update in updates.items() if len(update["gpus"]) > 1}
        return changed(instance, several)


class ServerLists(Drawn):
    """The cluster has partitions, and jobs may use the servers of one only."""

    name: ClassVar[str] = features.SERVER_LISTS.name

    share: Share = 0.5
    """Part of the jobs that are bound to a partition."""

    partitions: Count = 2
    """Number of partitions; servers go to them in turn, in random order."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give some jobs the servers of a partition that has room for them."""
        servers = instance.cluster.servers
        order = rng.permutation(len(servers)).tolist()
        parts = [sorted(order[k :: self.partitions]) for k in range(self.partitions)]
        updates = {}
        for j in some(rng, range(len(instance.jobs)), self.share):
            job, allowed = instance.jobs[j], allowed_servers(instance)[j]
            roomy = [
                part
                for part in parts
                if sum(servers[s].gpus for s in part if s in allowed) >= job.sizes[-1]
            ]
            choice = float(rng.random())
            if roomy:
                part = roomy[int(choice * len(roomy))]
                updates[j] = {"servers": tuple(servers[s].name for s in part)}
        return progressing(instance, updates)


class Spreads(Drawn):
    """Jobs of several GPUs are bound in how they spread over servers."""

    name: ClassVar[str] = features.SPREADS.name

    share: Share = 0.25
    """Part of the jobs of several GPUs."""

    kinds: Annotated[tuple[Kind, ...], _SEVERAL, Field(min_length=1)] = (
        *("together", "apart", "equal"),
    )
    """What they may ask for: as few servers as they can be on, two servers at least, or the same
    number of GPUs on each server."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give some jobs a spread that the servers have room for, and with which they progress."""
        several = [j for j, job in enumerate(instance.jobs) if job.sizes[0] > 1]
        updates = {}
        for j in some(rng, several, self.share):
            job, allowed = instance.jobs[j], allowed_servers(instance)[j]
            capacities = [instance.cluster.servers[s].gpus for s in sorted(allowed)]
            spread = self._spread(self.kinds[int(rng.integers(len(self.kinds)))], job, capacities)
            asked = job.model_copy(update={"spread": spread})
            if all(has_room(asked, size, capacities) for size in job.sizes):
                updates[j] = {"spread": spread}
        return progressing(instance, updates)

    @staticmethod
    def _spread(kind: Kind, job: Job, capacities: list[int]) -> Spread:
        if kind == "apart":
            return Spread(min_servers=2)
        if kind == "equal":
            return Spread(equal=True)
        left, fewest = job.sizes[-1], 0
        for capacity in sorted(capacities, reverse=True):
            if left > 0:
                left, fewest = left - capacity, fewest + 1
        return Spread(max_servers=fewest)
