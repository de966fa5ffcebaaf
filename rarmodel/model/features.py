"""What an instance uses beyond the paper's problem, and what a part can handle (section 9).

A part that handles nothing of this says nothing. Others name in `handles` what they do; users'
parts of old go on with plain instances.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from rarmodel.schema import Instance, Job
from rarmodel.schema.network_pressures import FIELDS
from rarmodel.schema.problems import place_of
from rarmodel.schema.resources import uses_of

from .caching import once_per_instance
from .interruptions import interrupts
from .sharing_rule import DUTY as DUTY_RULE
from .sharing_rule import sharing_rule


class Feature(NamedTuple):
    """Something that an instance may use.

    Attributes
    ----------
    name
        What it is called.
    place
        Where an instance uses it first, such as `jobs[3].release`; None if it does not.
    """

    name: str
    place: Callable[[Instance], str | None]


def _of_jobs(field: str, uses: Callable[[Job], object]) -> Callable[[Instance], str | None]:
    def place(instance: Instance) -> str | None:
        return next(
            (f"jobs[{i}].{field}" for i, job in enumerate(instance.jobs) if uses(job)), None
        )

    return place


def _quotas(instance: Instance) -> str | None:
    capped = (i for i, tenant in enumerate(instance.tenants) if tenant.gpus is not None)
    return next((f"tenants[{i}].gpus" for i in capped), None)


def _resources(instance: Instance) -> str | None:
    for i, job in enumerate(instance.jobs if instance.resources else ()):
        for field, name, amount in uses_of(job):
            if amount:
                return f"jobs[{i}].{place_of((field, name))}"
    return None


def _network_pressures(instance: Instance) -> str | None:
    for i, job in enumerate(instance.jobs):
        for field in FIELDS:
            if getattr(job, field) is not None:
                return f"jobs[{i}].{field}"
    return None


def _own_rates(instance: Instance) -> str | None:
    servers = enumerate(instance.cluster.servers)
    own = (i for i, server in servers if server.intra_server_gbps is not None)
    return next((f"cluster.servers[{i}].intra_server_gbps" for i in own), None)


def _cards(instance: Instance) -> str | None:
    several = (i for i, one in enumerate(instance.cluster.servers) if one.network_cards > 1)
    return next((f"cluster.servers[{i}].network_cards" for i in several), None)


def _memory(instance: Instance) -> str | None:
    """A need of memory, and a size of it somewhere: elsewhere all needs are met."""
    cluster = instance.cluster
    sized = any(cluster.memory_gb_of(server) is not None for server in cluster.servers)
    needs = _of_jobs("memory_gb", lambda job: job.memory_gb)
    return needs(instance) if sized else None


RELEASES = Feature("releases", _of_jobs("release", lambda job: job.release > 0))
DEADLINES = Feature("deadlines", _of_jobs("deadline", lambda job: job.deadline is not None))
DEPENDENCIES = Feature("dependencies", _of_jobs("after", lambda job: job.after))
SERVER_LISTS = Feature("server lists", _of_jobs("servers", lambda job: job.servers is not None))
SPREADS = Feature("spreads", _of_jobs("spread", lambda job: job.spread and job.spread.limits))
LEVELS = Feature("levels", _of_jobs("spread.within", lambda job: job.spread and job.spread.within))
RING_SIZES = Feature("ring sizes", _of_jobs("gpus", lambda job: len(job.sizes) > 1))
GPU_TYPES = Feature("GPU types", _of_jobs("times", lambda job: job.times is not None))
RUNNING_JOBS = Feature("running jobs", _of_jobs("running", lambda job: job.running is not None))
SERVER_RATES = Feature("rates within servers", _own_rates)
RESERVATIONS = Feature(
    "reservations",
    lambda instance: "cluster.reservations" if instance.cluster.reservations else None,
)
QUOTAS = Feature("quotas", _quotas)
RESOURCES = Feature("resources", _resources)
DUTY = Feature(
    "contention by duty",
    lambda instance: "contention.model" if sharing_rule(instance.contention) is DUTY_RULE else None,
)
NETWORK_PRESSURES = Feature("network pressures", _network_pressures)
LATENCY = Feature(
    "latency",
    lambda instance: "contention.latency_ms" if instance.contention.latency_ms > 0 else None,
)
OVERLAP = Feature(
    "overlap", lambda instance: "contention.overlap" if instance.contention.overlap > 1 else None
)
CARDS = Feature("network cards", _cards)
SERVICES = Feature("services", lambda instance: "services" if instance.services else None)
SHARED_GPUS = Feature("shared GPUs", _of_jobs("slices", lambda job: job.slices is not None))
GPU_MEMORY = Feature("GPU memory", _memory)
PREEMPTION = Feature("preemption", lambda instance: "preemption" if interrupts(instance) else None)

OBJECTIVES = Feature(
    "objectives other than the makespan",
    lambda instance: None if instance.objectives == ("makespan",) else "objective",
)

FEATURES = (
    OBJECTIVES,
    RELEASES,
    DEADLINES,
    DEPENDENCIES,
    SERVER_LISTS,
    SPREADS,
    LEVELS,
    RING_SIZES,
    GPU_TYPES,
    RUNNING_JOBS,
    SERVER_RATES,
    RESERVATIONS,
    QUOTAS,
    RESOURCES,
    DUTY,
    NETWORK_PRESSURES,
    LATENCY,
    OVERLAP,
    CARDS,
    SERVICES,
    SHARED_GPUS,
    GPU_MEMORY,
    PREEMPTION,
)
"""All of them. An instance that uses none is the paper's problem."""

WIDER = tuple(feature.name for feature in FEATURES if feature is not OBJECTIVES)
"""Names of all but the objectives."""

TERMS = frozenset({LATENCY.name, OVERLAP.name})
"""What makes (8) another number, and nothing else."""
BY_DUTY = TERMS | {DUTY.name, NETWORK_PRESSURES.name}
"""What most parts for the paper's problem handle beside it."""
PAPER = BY_DUTY | {OBJECTIVES.name}
"""The paper's jobs and cluster, whatever the objective, the model of contention and its terms."""
WINDOWS = frozenset({RELEASES.name, DEADLINES.name, DEPENDENCIES.name})
"""When jobs may run."""
PLACES = frozenset(
    {
        *(SERVER_LISTS.name, SPREADS.name, LEVELS.name, RING_SIZES.name, GPU_TYPES.name),
        *(RUNNING_JOBS.name, SERVER_RATES.name, CARDS.name, GPU_MEMORY.name),
    }
)
"""Where they may run, and how fast they are there."""
CAPS = frozenset({RESERVATIONS.name, QUOTAS.name, RESOURCES.name})
"""How many GPUs they may hold at once, and how much they may use of what else there is."""

AWAY = frozenset({RESERVATIONS.name, RESOURCES.name})
"""What replicas of services become where they are decided before the jobs."""

SHARING = frozenset({SHARED_GPUS.name, GPU_MEMORY.name})
"""What jobs take of GPUs. Where they have these alone, memory only limits which they may use."""

ALL_BUT_PREEMPTION = WINDOWS | PLACES | CAPS | PAPER
"""All of jobs that have their GPUs alone and are not interrupted."""
UNINTERRUPTED = ALL_BUT_PREEMPTION | SHARING
"""All of jobs that are not interrupted."""
ALL = frozenset(feature.name for feature in FEATURES)
ALONE_ON_GPUS = ALL - {SHARED_GPUS.name}
"""All of jobs that have their GPUs alone."""


@once_per_instance
def used(instance: Instance) -> Mapping[str, str]:
    """The features that an instance uses, each with the first place."""
    places = ((feature.name, feature.place(instance)) for feature in FEATURES)
    return {name: place for name, place in places if place is not None}


def plain(instance: Instance) -> bool:
    """Whether jobs and cluster are the paper's, whatever the objective and the contention."""
    return used(instance).keys() <= PAPER


def unhandled(instance: Instance, handles: Collection[str], name: str) -> str | None:
    """Why a part does not take an instance, in a line; None if it does.

    Parameters
    ----------
    instance
        The problem.
    handles
        Names of the features that the part handles.
    name
        The part's name.
    """
    return refusal(used(instance), handles, name)


def refusal(uses: Mapping[str, str], handles: Collection[str], name: str) -> str | None:
    """The same, from what `used` says of the instance."""
    missing = [f"{what} ({where})" for what, where in uses.items() if what not in handles]
    return f"{name} does not handle {_and(missing)}" if missing else None


def handled(part: object) -> frozenset[str]:
    """The features that a part handles: those in its `handles`, none without it.

    What handles reservations and resources also handles services: replicas are decided first, and
    are reservations to it; those of tenants use a resource.
    """
    names: Iterable[str] = getattr(part, "handles", ())
    found = frozenset(names)
    return found | {SERVICES.name} if found >= AWAY else found


def in_words(some: Collection[str], of: Collection[str]) -> str:
    """Some of several names in words: all of them, all but a few, those that are, or none."""
    missing = [name for name in of if name not in some]
    if missing and 3 * len(missing) < len(of):
        return f"all but {_and(missing)}"
    return (", ".join(some) if missing else "all") if some else "none"


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
