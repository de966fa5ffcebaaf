"""What goes on in the cluster: running jobs, GPUs that are away, caps of tenants, resources."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from rarmodel.model import features, lone_options, topology
from rarmodel.model.lone import allowed_servers, groups_of
from rarmodel.schema import Instance, Resource
from rarmodel.schema.base import Count, NonNegativeInteger
from rarmodel.schema.cluster import Reservation
from rarmodel.schema.job import Job, Running
from rarmodel.schema.tenants import Tenant

from .feature import (
    Drawn,
    Rng,
    Share,
    Shares,
    changed,
    drawn_from,
    rough_makespan,
    slots_of,
    some,
    whole,
)

WATTS = 300
"""Power that a GPU draws."""


class RunningJobs(Drawn):
    """The first jobs run already, in part done; their rings share no link."""

    name: ClassVar[str] = features.RUNNING_JOBS.name

    fill: Share = 0.5
    """Part of the GPUs that running jobs hold, at most."""

    done: Shares = (0.0, 0.9)
    """Part of their iterations that is behind them."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Let jobs run that fit what is idle, and release them when they must have started."""
        free = [list(range(server.gpus)) for server in instance.cluster.servers]
        left = math.floor(round(self.fill * instance.cluster.total_gpus, 6))
        tree, links = topology(instance.cluster), set[int]()
        updates: dict[int, dict[str, Any]] = {}
        for j, job in enumerate(instance.jobs):
            size = job.sizes[int(rng.integers(len(job.sizes)))]
            (part,) = drawn_from(rng, self.done, 1)
            allowed = allowed_servers(instance)[j]
            order = [s for s in rng.permutation(len(free)).tolist() if s in allowed]
            workers: dict[int, int] = {}
            for group in groups_of(tree, job.spread, allowed):
                idle = {s: len(free[s]) for s in order if s in group}
                workers = workers or _placed(job, size, idle)
            used = tree.links_used(workers)
            if size > left or not workers or not links.isdisjoint(used):
                continue
            left -= size
            links |= set(used)
            gpus = {
                instance.cluster.servers[s].name: tuple(free[s].pop(0) for _ in range(count))
                for s, count in sorted(workers.items())
            }
            done = min(job.iterations - 1, int(part * job.iterations))
            updates[j] = {"running": Running(gpus=gpus, iterations_done=done)}
        drafted = changed(instance, updates)
        for j in list(updates):
            (option,) = lone_options(drafted)[j]
            speed = option.pace.speed(option.servers, option.gbps)
            if speed:
                done = updates[j]["running"].iterations_done
                updates[j]["release"] = -slots_of(done / speed)
            else:
                del updates[j]  # On these servers it would never end.
        return changed(instance, updates)


def _placed(job: Job, size: int, free: dict[int, int]) -> dict[int, int]:
    """Workers on a server with room, or on those with most room; none if there is no such place."""
    roomy = [s for s, idle in free.items() if idle >= size]
    if roomy and (job.spread is None or job.spread.kept([size])):
        return {roomy[0]: size}
    most = size if job.spread is None or job.spread.max_servers is None else job.spread.max_servers
    least = 2 if job.spread is None else max(2, job.spread.min_servers)
    for number in range(least, min(most, size, len(free)) + 1):
        chosen = sorted(free, key=lambda s: -free[s])[:number]
        each, rest = divmod(size, number)
        even = {s: each + (k < rest) for k, s in enumerate(chosen)}
        fits = all(free[s] >= count for s, count in even.items())
        if fits and (job.spread is None or job.spread.kept(even.values())):
            return even
    return {}


class Reservations(Drawn):
    """GPUs of some servers are away for a while."""

    name: ClassVar[str] = features.RESERVATIONS.name

    share: Share = 0.25
    """Part of the servers, with one reservation each."""

    gpus: Shares = (0.5, 1.0)
    """Part of a server's GPUs, rounded up."""

    length: Shares = (0.1, 0.3)
    """Part of `rough_makespan`; a reservation begins within that makespan."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Reserve GPUs of some servers."""
        servers = instance.cluster.servers
        makespan = rough_makespan(instance)
        found = []
        for s in sorted(some(rng, range(len(servers)), self.share)):
            (part,), (length,) = drawn_from(rng, self.gpus, 1), drawn_from(rng, self.length, 1)
            start = int(rng.integers(makespan))
            found.append(
                Reservation.model_validate(
                    {
                        "server": servers[s].name,
                        "gpus": max(1, slots_of(part * servers[s].gpus)),
                        "from": start,
                        "to": start + max(1, slots_of(length * makespan)),
                    }
                )
            )
        cluster = instance.cluster.model_copy(update={"reservations": tuple(found)})
        return instance.model_copy(update={"cluster": cluster})


class Quotas(Drawn):
    """Jobs belong to tenants, and each tenant's jobs hold so many GPUs at once at most."""

    name: ClassVar[str] = features.QUOTAS.name

    tenants: Count = 4
    """Number of tenants; each job is of a random one."""

    share: Share = 0.4
    """Part of the GPUs that a tenant may hold, rounded up; always enough for each of its jobs in
    its smallest size."""

    groups: NonNegativeInteger = 0
    """Number of groups above the tenants, which are dealt to them by turns."""

    group_share: Share = 0.6
    """Part of the GPUs that a group may hold, likewise."""

    guaranteed: Share = 0.0
    """Part of its cap that each tenant is guaranteed, rounded to the nearest; a group is guaranteed
    what its tenants are, at most its cap."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Give every job a tenant, and every tenant a cap."""
        owners = rng.integers(self.tenants, size=len(instance.jobs)).tolist()
        needed = [1] * self.tenants
        for job, owner in zip(instance.jobs, owners, strict=True):
            needed[owner] = max(needed[owner], job.sizes[0])
        names = _numbered("tenant", self.tenants)
        above = _numbered("group", self.groups)
        cap = self._cap(instance, self.share)
        caps = [max(cap, least) for least in needed]
        own = [whole(self.guaranteed * most) for most in caps]
        tenants = [
            self._tenant(name, most, some, above[t % self.groups] if above else None)
            for t, (name, most, some) in enumerate(zip(names, caps, own, strict=True))
        ]
        cap = self._cap(instance, self.group_share)
        for g, name in enumerate(above):
            most = max([cap, *needed[g :: self.groups]])
            tenants.append(self._tenant(name, most, min(most, sum(own[g :: self.groups])), None))
        capped = instance.model_copy(update={"tenants": tuple(tenants)})
        return changed(capped, {j: {"tenant": names[owner]} for j, owner in enumerate(owners)})

    def _cap(self, instance: Instance, share: float) -> int:
        return max(1, slots_of(share * instance.cluster.total_gpus))

    def _tenant(self, name: str, gpus: int, guaranteed: int, parent: str | None) -> Tenant:
        """A tenant, with the fields that the features asked for have."""
        more: dict[str, Any] = {} if parent is None else {"parent": parent}
        more |= {"guaranteed": guaranteed} if self.guaranteed else {}
        return Tenant(name=name, gpus=gpus, **more)


def _numbered(what: str, count: int) -> list[str]:
    """Names with numbers of the same length."""
    digits = len(str(count - 1))
    return [f"{what}{k:0{digits}d}" for k in range(count)]


class Resources(Drawn):
    """GPUs draw power, of which there is not enough for all; some jobs share licences."""

    name: ClassVar[str] = features.RESOURCES.name

    power: Share = 0.75
    """Part of the power of all GPUs that there is; always enough for each job in its smallest
    size."""

    licences: Count = 2
    """Licences that there are."""

    share: Share = 0.25
    """Part of the jobs that use one licence."""

    def draw(self, instance: Instance, rng: Rng) -> Instance:
        """Let every worker draw power, and some jobs use a licence."""
        powered = max(
            slots_of(self.power * instance.cluster.total_gpus),
            *(job.sizes[0] for job in instance.jobs),
        )
        licensed = set(some(rng, range(len(instance.jobs)), self.share))
        resources = (
            Resource(name="power_w", capacity=WATTS * powered),
            Resource(name="licence", capacity=self.licences),
        )
        limited = instance.model_copy(update={"resources": resources})
        updates: dict[int, dict[str, Any]] = {
            j: {"resources_per_gpu": {"power_w": WATTS}} for j in range(len(instance.jobs))
        }
        for j in licensed:
            updates[j]["resources"] = {"licence": 1}
        return changed(limited, updates)
