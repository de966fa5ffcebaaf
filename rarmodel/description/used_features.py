"""What an instance uses beyond the paper's problem, in numbers (section 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rarmodel.duration import duration
from rarmodel.errors import FEW
from rarmodel.model import features as known
from rarmodel.model import sharing_rule, used
from rarmodel.model.interruptions import loses_work
from rarmodel.model.usage_limits import usage_limits
from rarmodel.schema import Instance, Job
from rarmodel.schema.network_pressures import FIELDS
from rarmodel.schema.tenants import lineages


class Use(NamedTuple):
    """Something that an instance uses.

    Attributes
    ----------
    name
        A feature, as parts of rarmodel name those that they do not handle; or a field that only
        objectives or online policies read.
    place
        Where the instance uses it first.
    detail
        How much of it there is, in words.
    """

    name: str
    place: str
    detail: str


def uses_of(instance: Instance) -> tuple[Use, ...]:
    """All that an instance uses beyond the paper's problem; empty for a plain instance."""
    found = {**used(instance), **_read_by_few(instance)}
    return tuple(
        Use(name, place, DETAILS[name](instance) if name in DETAILS else "")
        for name, place in found.items()
    )


def _read_by_few(instance: Instance) -> dict[str, str]:
    """Fields that no part has to handle, as only objectives and online policies read them."""
    jobs = list(enumerate(instance.jobs))
    priced = instance.cluster.prices_per_gpu_hour is not None
    places: dict[str, Iterable[str]] = {
        "earlier submissions": (f"jobs[{i}].release" for i, job in jobs if job.release < 0),
        "due slots": (f"jobs[{i}].due" for i, job in jobs if job.due is not None),
        "weights": (f"jobs[{i}].weight" for i, job in jobs if job.weight > 1),
        "priorities": (f"jobs[{i}].priority" for i, job in jobs if job.priority),
        "guarantees": (
            f"tenants[{i}].guaranteed" for i, one in enumerate(instance.tenants) if one.guaranteed
        ),
        "prices": ["cluster.prices_per_gpu_hour"] if priced else [],
    }
    firsts = ((name, next(iter(found), None)) for name, found in places.items())
    return {name: place for name, place in firsts if place is not None}


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _span(values: Iterable[float], what: str = "") -> str:
    """Least and greatest of some numbers, after a word if one is given."""
    found = list(values)
    ends = dict.fromkeys((min(found), max(found)))
    several = "s" * (len(ends) > 1)
    return (f"{what}{several} " if what else "") + " to ".join(f"{end:,.10g}" for end in ends)


def _jobs(instance: Instance, use: Callable[[Job], object]) -> list[Job]:
    return [job for job in instance.jobs if use(job)]


def _share(jobs: Sequence[Job], instance: Instance) -> str:
    return f"{len(jobs):,} of {_number(len(instance.jobs), 'job')}"


def _objectives(instance: Instance) -> str:
    return ", then ".join(instance.objectives)


def _releases(instance: Instance) -> str:
    jobs = _jobs(instance, lambda job: job.release > 0)
    return f"{_share(jobs, instance)}, at {_span((job.release for job in jobs), 'slot')}"


def _earlier(instance: Instance) -> str:
    jobs = _jobs(instance, lambda job: job.release < 0)
    return f"{_share(jobs, instance)}, at {_span((job.release for job in jobs), 'slot')}"


def _due(instance: Instance) -> str:
    dues = [job.due for job in instance.jobs if job.due is not None]
    return f"{len(dues):,} of {_number(len(instance.jobs), 'job')}, at {_span(dues, 'slot')}"


def _deadlines(instance: Instance) -> str:
    ends = [job.deadline for job in instance.jobs if job.deadline is not None]
    return f"{len(ends):,} of {_number(len(instance.jobs), 'job')}, at {_span(ends, 'slot')}"


def _weights(instance: Instance) -> str:
    return _span((job.weight for job in instance.jobs), "weight")


def _dependencies(instance: Instance) -> str:
    jobs = _jobs(instance, lambda job: job.after)
    return f"{_share(jobs, instance)} wait for others, {_number(_chain(instance), 'job')} in a row"


def _chain(instance: Instance) -> int:
    """Most jobs that wait for each other one by one."""
    waits = {job.name: job.after for job in instance.jobs}
    length: dict[str, int] = {}
    stack = list(waits)
    while stack:
        name = stack[-1]
        if todo := [other for other in waits[name] if other not in length]:
            stack += todo
        else:
            length[stack.pop()] = 1 + max((length[other] for other in waits[name]), default=0)
    return max(length.values())


def _server_lists(instance: Instance) -> str:
    jobs = _jobs(instance, lambda job: job.servers is not None)
    sizes = (len(job.servers or ()) for job in jobs)
    servers = _number(len(instance.cluster.servers), "server")
    return f"{_share(jobs, instance)} may use {_span(sizes)} of {servers}"


def _spreads(instance: Instance) -> str:
    asked = [job.spread for job in instance.jobs if job.spread is not None and job.spread.limits]
    spreads = Counter(spread.told() for spread in asked)
    return "; ".join(f"{_number(count, 'job')}: {told}" for told, count in spreads.most_common(3))


def _levels(instance: Instance) -> str:
    cluster = instance.cluster
    jobs = Counter(job.spread.within for job in instance.jobs if job.spread and job.spread.within)
    nodes = {level: len(set(cluster.nodes_at(level).values())) for level in jobs}
    told = jobs.most_common(3)
    return "; ".join(
        f"{_number(count, 'job')} within one of {_number(nodes[level], level)}"
        for level, count in told
    )


def _ring_sizes(instance: Instance) -> str:
    jobs = _jobs(instance, lambda job: len(job.sizes) > 1)
    ends = _span(size for job in jobs for size in job.sizes)
    return f"{_share(jobs, instance)} are moldable, with {ends} GPUs"


def _gpu_types(instance: Instance) -> str:
    gpus: Counter[str] = Counter()
    servers: Counter[str] = Counter()
    for server in instance.cluster.servers:
        gpus[server.gpu_type or "no type"] += server.gpus
        servers[server.gpu_type or "no type"] += 1
    jobs = Counter(kind for job in instance.jobs for kind in job.times or gpus)
    return "; ".join(
        f"{kind}: {_number(gpus[kind], 'GPU')} on {_number(servers[kind], 'server')}, "
        f"for {_number(jobs[kind], 'job')}"
        for kind in gpus
    )


def _running(instance: Instance) -> str:
    running = [job.running for job in instance.jobs if job.running is not None]
    held = sum(one.size for one in running)
    total = _number(instance.cluster.total_gpus, "GPU")
    return f"{len(running):,} of {_number(len(instance.jobs), 'job')}, on {held:,} of {total}"


def _server_rates(instance: Instance) -> str:
    rates = [server.intra_server_gbps for server in instance.cluster.servers]
    own = [rate for rate in rates if rate is not None]
    return f"{_number(len(own), 'server')} with {_span(own)} Gbit/s"


def _cards(instance: Instance) -> str:
    several = [one.network_cards for one in instance.cluster.servers if one.network_cards > 1]
    return f"{_number(len(several), 'server')} with {_span(several)}"


def _shared_gpus(instance: Instance) -> str:
    cluster = instance.cluster
    taken = [job.slices for job in instance.jobs if job.slices is not None]
    there = _span([*map(cluster.slices_of, cluster.servers)])
    told = f"{_number(len(taken), 'job')} with {_span(taken)} of {there} slices"
    pairs = len(instance.colocation)
    return f"{told}; {_number(pairs, 'measured pair')}" if pairs else told


def _gpu_memory(instance: Instance) -> str:
    cluster = instance.cluster
    needs = [job.memory_gb for job in instance.jobs if job.memory_gb]
    sizes = [one for s in cluster.servers if (one := cluster.memory_gb_of(s)) is not None]
    return f"{_number(len(needs), 'job')} with {_span(needs)} GB of {_span(sizes)}"


def _reservations(instance: Instance) -> str:
    found = instance.cluster.reservations
    servers = {one.server for one in found}
    slots = sum(one.gpus * (one.end - one.start) for one in found if one.end is not None)
    ever = sum(one.end is None for one in found)
    text = f"{len(found):,} on {_number(len(servers), 'server')}, from slot "
    text += f"{min(one.start for one in found):,} on, {_number(slots, 'GPU slot')}"
    return text + (f" and {ever:,} for ever" if ever else "")


def _quotas(instance: Instance) -> str:
    jobs = _jobs_below(instance)
    capped = [tenant for tenant in instance.tenants if tenant.gpus is not None]
    told = [f"{one.name!r} {one.gpus:,} GPUs, {_number(jobs[one.name], 'job')}" for one in capped]
    more = f" and {len(told) - FEW:,} more" if len(told) > FEW else ""
    return f"{'; '.join(told[:FEW])}{more}"


def _jobs_below(instance: Instance) -> Counter[str]:
    """By name of a tenant, how many jobs it has, and all tenants below it."""
    above = lineages(instance.tenants)
    return Counter(name for job in instance.jobs for name in above.get(job.tenant or "", ()))


def _guarantees(instance: Instance) -> str:
    some = [one for one in instance.tenants if one.guaranteed]
    told = [f"{one.name!r} {_number(one.guaranteed or 0, 'GPU')}" for one in some]
    more = f" and {len(told) - FEW:,} more" if len(told) > FEW else ""
    return f"{'; '.join(told[:FEW])}{more}"


def _priorities(instance: Instance) -> str:
    found = Counter(job.priority for job in instance.jobs)
    told = [f"{_number(found[one], 'job')} of {one}" for one in sorted(found, reverse=True)]
    more = f" and {len(told) - FEW:,} more" if len(told) > FEW else ""
    return f"{', '.join(told[:FEW])}{more}"


def _resources(instance: Instance) -> str:
    jobs = {limit.name: len(limit.uses) for limit in usage_limits(instance) if not limit.of_tenant}
    told = []
    for one in instance.resources:
        over_time = " over time" * isinstance(one.capacity, tuple)
        capacities = _span(window.capacity for window in one.windows)
        if one.name in jobs:
            told.append(f"{one.name!r} {capacities}{over_time}, {_number(jobs[one.name], 'job')}")
    more = f" and {len(told) - FEW:,} more" if len(told) > FEW else ""
    return f"{'; '.join(told[:FEW])}{more}"


def _prices(instance: Instance) -> str:
    prices = instance.cluster.prices_per_gpu_hour
    if isinstance(prices, dict):
        return ", ".join(f"{kind} {price:g}" for kind, price in prices.items()) + " per GPU-hour"
    return f"{prices:g} per GPU-hour"


def _network_pressures(instance: Instance) -> str:
    told = []
    for word, field in (("pressure", FIELDS[0]), ("sensitivity", FIELDS[1])):
        found = [one for job in instance.jobs if (one := getattr(job, field)) is not None]
        if found:
            jobs = f"{len(found):,} of {_number(len(instance.jobs), 'job')}"
            ends = " to ".join(f"{end:g}" for end in dict.fromkeys((min(found), max(found))))
            told.append(f"{word} {ends} of {jobs}")
    return "; ".join(told)


def _preemption(instance: Instance) -> str:
    restore = instance.preemption.restore_seconds if instance.preemption else 0.0
    told = [f"jobs may be interrupted, and take {duration(restore)} to continue"]
    if firm := sum(not job.preemptible for job in instance.jobs):
        told.append(f"{_number(firm, 'job')} may not")
    losers = [job for job in instance.jobs if loses_work(instance, job)]
    every = [job.checkpoint_iterations for job in losers if job.checkpoint_iterations]
    if every:
        jobs = _number(len(every), "job")
        told.append(f"{jobs} with checkpoints every {_span(every)} iterations")
    if anew := len(losers) - len(every):
        told.append(f"{_number(anew, 'job')} without checkpoints")
    return "; ".join(told)


DETAILS: dict[str, Callable[[Instance], str]] = {
    known.OBJECTIVES.name: _objectives,
    known.RELEASES.name: _releases,
    known.DEADLINES.name: _deadlines,
    known.DEPENDENCIES.name: _dependencies,
    known.SERVER_LISTS.name: _server_lists,
    known.SPREADS.name: _spreads,
    known.LEVELS.name: _levels,
    known.RING_SIZES.name: _ring_sizes,
    known.GPU_TYPES.name: _gpu_types,
    known.RUNNING_JOBS.name: _running,
    known.SERVER_RATES.name: _server_rates,
    known.RESERVATIONS.name: _reservations,
    known.QUOTAS.name: _quotas,
    known.RESOURCES.name: _resources,
    known.DUTY.name: lambda instance: sharing_rule(instance.contention).text,
    known.NETWORK_PRESSURES.name: _network_pressures,
    known.LATENCY.name: lambda instance: f"{instance.contention.latency_ms:g} ms for each step",
    known.OVERLAP.name: lambda instance: (
        f"of exchange and passes, γ = {instance.contention.overlap:g}"
    ),
    known.CARDS.name: _cards,
    known.SHARED_GPUS.name: _shared_gpus,
    known.GPU_MEMORY.name: _gpu_memory,
    known.PREEMPTION.name: _preemption,
    "earlier submissions": _earlier,
    "due slots": _due,
    "weights": _weights,
    "priorities": _priorities,
    "guarantees": _guarantees,
    "prices": _prices,
}
"""What to say of each."""
