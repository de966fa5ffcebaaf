"""Random instances that use the fields of section 9, and their optima by brute force."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from random import Random
from typing import Any

from enumeration import count_vectors
from hypothesis import strategies as st
from pressed import give_pressures
from random_instances import random_instance
from tenant_trees import random_tenants

from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.model import horizon_of
from rarmodel.model.features import (
    CARDS,
    DEADLINES,
    DEPENDENCIES,
    DUTY,
    GPU_MEMORY,
    GPU_TYPES,
    LATENCY,
    LEVELS,
    NETWORK_PRESSURES,
    OVERLAP,
    PREEMPTION,
    QUOTAS,
    RELEASES,
    RESERVATIONS,
    RESOURCES,
    RING_SIZES,
    RUNNING_JOBS,
    SERVER_LISTS,
    SERVER_RATES,
    SPREADS,
)
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Job, Preemption, Schedule
from rarmodel.verifier import Report, Run, simulate, verify

OBJECTIVES = (
    *("makespan", "total-completion", "total-flow", "max-flow", "total-tardiness"),
    *("max-tardiness", "late-jobs", "max-stretch", "cost", "total-links"),
)
WIDE = (
    *(RELEASES, DEADLINES, DEPENDENCIES, SERVER_LISTS, SPREADS, RING_SIZES, GPU_TYPES),
    *(RUNNING_JOBS, SERVER_RATES, RESERVATIONS, QUOTAS, DUTY, LEVELS, RESOURCES),
    *(LATENCY, OVERLAP, CARDS, NETWORK_PRESSURES, GPU_MEMORY),
)
"""All features with which `search` makes schedules, but objectives."""
FEATURES = tuple(feature.name for feature in WIDE)
PLAYED = FEATURES
"""Those that `simulate` handles, but preemption."""


def some_features(random: Random, seed: int, names: Sequence[str]) -> list[str]:
    """By seed in turn: none of some features, a few, and all."""
    return [[], random.sample(names, random.randint(1, 5)), [*names]][seed % 3]


def random_wide(
    random: Random,
    features: Collection[str],
    *,
    jobs: int = 3,
    servers: int = 2,
    objectives: Sequence[str] = ("makespan",),
    most_slots: int = 4,
    stall: bool = False,
) -> Instance:
    """An instance that may use the features; weights and due slots are always there.

    With `stall`, contention may bring speeds to 0.
    """
    while True:
        plain = random_instance(
            random,
            jobs=jobs,
            servers=servers,
            tree=random.random() < 0.5,
            most_slots=most_slots,
            stall=stall,
        )
        data = plain.model_dump(mode="json", exclude_unset=True)
        data["objective"] = objectives[0] if len(objectives) == 1 else list(objectives)
        del data["time"]["horizon"]
        if PREEMPTION.name in features:
            slots = random.choice([0, 0.4, 1, 1, 2, 2.5])
            data["preemption"] = {"restore_seconds": slots * data["time"]["slot_seconds"]}
        for change in (_cluster, _jobs, _running, _interruptions):
            change(random, data, features)
        # Terms take nothing from `random`: seeds go on to mean what they did without them.
        with_terms(Random(repr(data["time"]["slot_seconds"])), data, features)
        if NETWORK_PRESSURES.name in features:
            give_pressures(Random(repr(data["time"]["slot_seconds"])), data)
        try:
            return parse_instance(data)
        except InputError:
            continue  # Sizes without room, rings that make no progress: draw again.


def _cluster(random: Random, data: dict[str, Any], features: Collection[str]) -> None:
    cluster = data["cluster"]
    if LEVELS.name in features:
        _levels(random, cluster)
    for server in cluster["servers"]:
        if GPU_TYPES.name in features:
            server["gpu_type"] = random.choice(["A100", "V100"])
        if SERVER_RATES.name in features and random.random() < 0.5:
            server["intra_server_gbps"] = random.choice([1.0, 5.0, 400.0])
    if DUTY.name in features or NETWORK_PRESSURES.name in features:
        data["contention"]["model"] = "duty"
        for link in cluster["network"].get("links", ()):
            link["gbps"] = 8.0  # Not every formulation takes several rates by duty.
    types = {server.get("gpu_type") for server in cluster["servers"]}
    if random.random() < 0.5:
        prices = {kind: random.choice([0.1, 1.5, 3.0]) for kind in types}
        cluster["prices_per_gpu_hour"] = 2.5 if None in types else prices
    if RESERVATIONS.name in features:
        cluster["reservations"] = []
        for server in cluster["servers"]:
            if random.random() < 0.7:
                start = random.randint(0, 4)
                one = {"server": server["name"], "from": start, "to": start + random.randint(1, 4)}
                cluster["reservations"].append(one | {"gpus": random.randint(1, server["gpus"])})
    if QUOTAS.name in features:
        total = sum(server["gpus"] for server in cluster["servers"])
        # Trees take nothing from `random`: seeds go on to mean what they did without them.
        trees = Random(repr(data["time"]["slot_seconds"]))
        data["tenants"] = random_tenants(trees, total, t=random.randint(1, total))
    if RESOURCES.name in features:
        data["resources"] = [
            {"name": "alone", "capacity": 1},
            {"name": "power", "capacity": _capacity(random)},
        ]


def with_terms(random: Random, data: dict[str, Any], features: Collection[str]) -> None:
    """The terms of section 20, by the names of features."""
    if LATENCY.name in features:
        data["contention"]["latency_ms"] = random.choice([0.5, 5.0, 50.0])
    if OVERLAP.name in features:
        data["contention"]["overlap"] = random.choice([1.2, 2.0, 3.7, 50.0])
    if CARDS.name in features:
        for server in data["cluster"]["servers"]:
            server["network_cards"] = random.choice([1, 2, 2, 3, 4, 8])
    if GPU_MEMORY.name in features:
        data["cluster"]["gpu_memory_gb"] = 40
        for server in data["cluster"]["servers"]:
            if random.random() < 0.5:
                server["gpu_memory_gb"] = random.choice([16, 24.5, 80])
        for job in data["jobs"]:
            if random.random() < 0.7:
                job["memory_gb"] = random.choice([0, 8, 16, 24.5, 40])


def _capacity(random: Random) -> Any:
    """A number, or windows, one of which may have no end."""
    if random.random() < 0.5:
        return round(random.uniform(0.3, 1.5), 1)
    start, windows = random.randint(0, 3), []
    for _ in range(random.randint(1, 2)):
        end = start + random.randint(1, 4)
        windows.append({"from": start, "to": end, "capacity": random.choice([0, 0.4, 0.75, 1.2])})
        start = end + random.randint(0, 2)
    if random.random() < 0.3:
        del windows[-1]["to"]
        windows[-1]["capacity"] = 1.2
    return windows


def steady(instance: Instance) -> Instance:
    """The same, but each resource always has the greatest of its capacities.

    Without preemption, `simulate` plays no instance in which a capacity falls.
    """
    resources = (
        one.model_copy(update={"capacity": max(window.capacity for window in one.windows)})
        for one in instance.resources
    )
    return instance.model_copy(update={"resources": tuple(resources)})


def _levels(random: Random, cluster: dict[str, Any]) -> None:
    """Racks, and perhaps a pod; some servers may be below none."""
    names = [server["name"] for server in cluster["servers"]]
    if not any(link["node"] not in names for link in cluster["network"].get("links", ())):
        above = {name: f"r{i // 2}" for i, name in enumerate(names)}
        above |= dict.fromkeys(dict.fromkeys(above.values()), "core")
        links = [
            {"node": node, "parent": parent, "gbps": random.choice([4.0, 8.0, 20.0])}
            for node, parent in above.items()
        ]
        cluster["network"] = {"kind": "tree", "links": links}
    for link in cluster["network"]["links"]:
        if link["node"] not in names:
            link["level"] = "pod" if link["node"] == "pod" else "rack"


def _jobs(random: Random, data: dict[str, Any], features: Collection[str]) -> None:
    servers = data["cluster"]["servers"]
    total = sum(server["gpus"] for server in servers)
    order = random.sample(range(len(data["jobs"])), len(data["jobs"]))
    for i, job in enumerate(data["jobs"]):
        job["weight"] = random.randint(1, 3)
        if job["weight"] != 2:
            job["priority"] = job["weight"] - 2
        if random.random() < 0.7:
            job["due"] = random.randint(0, 10)
        if RELEASES.name in features:
            job["release"] = random.randint(-3, 5)
        if DEADLINES.name in features and random.random() < 0.4:
            job["deadline"] = random.randint(6, 16)
        if DEPENDENCIES.name in features and order[i] and random.random() < 0.4:
            other = order.index(random.randrange(order[i]))
            job["after"] = [data["jobs"][other]["name"]]
        if SERVER_LISTS.name in features and random.random() < 0.4:
            some = random.sample(servers, random.randint(1, len(servers)))
            job["servers"] = [server["name"] for server in some]
        if RING_SIZES.name in features and random.random() < 0.6:
            sizes = random.sample(range(1, total + 1), min(total, random.randint(1, 3)))
            job["gpus"] = sorted(sizes)
            job["global_batch_size"] = job.pop("batch_size") * sizes[0]
        if SPREADS.name in features and random.random() < 0.5:
            job["spread"] = {"min_servers": random.randint(1, 2)}
            if random.random() < 0.5:
                job["spread"]["max_servers"] = 2
            if random.random() < 0.5:
                job["spread"]["equal"] = True
        if LEVELS.name in features and random.random() < 0.6:
            levels = [link["level"] for link in data["cluster"]["network"]["links"][len(servers) :]]
            job.setdefault("spread", {})["within"] = random.choice(levels)
        if GPU_TYPES.name in features and random.random() < 0.6:
            forward, backward = job.pop("forward_ms_per_sample"), job.pop("backward_ms")
            kinds = sorted({server["gpu_type"] for server in servers})
            job["times"] = {
                kind: {
                    "forward_ms_per_sample": forward * random.uniform(0.5, 1.0),
                    "backward_ms": backward * random.uniform(0.5, 1.0),
                }
                for kind in random.sample(kinds, random.randint(1, len(kinds)))
            }
        if QUOTAS.name in features and random.random() < 0.7:
            job["tenant"] = random.choice(["t", "u"])
        if RESOURCES.name in features:
            if random.random() < 0.4:
                job["resources"] = {"alone": 1}
            if random.random() < 0.3:
                job.setdefault("resources", {})["power"] = random.choice([0, 0.1, 0.25])
            if random.random() < 0.5:
                job["resources_per_gpu"] = {"power": random.choice([0.1, 0.2, 0.3])}


def _running(random: Random, data: dict[str, Any], features: Collection[str]) -> None:
    if RUNNING_JOBS.name not in features:
        return
    free = {server["name"]: list(range(server["gpus"])) for server in data["cluster"]["servers"]}
    for job in data["jobs"]:
        sizes = job["gpus"] if isinstance(job["gpus"], list) else [job["gpus"]]
        size = random.choice(sizes)
        gpus = [(name, gpu) for name, left in free.items() for gpu in left]
        if random.random() < 0.4 and len(gpus) >= size and job["iterations"] > 1:
            held: dict[str, list[int]] = {}
            for name, gpu in random.sample(gpus, size):
                held.setdefault(name, []).append(gpu)
                free[name].remove(gpu)
            done = random.randrange(job["iterations"])
            job["running"] = {"gpus": held, "iterations_done": done}
            job["release"] = min(0, job.get("release", 0))
            job.pop("after", None)


def _interruptions(random: Random, data: dict[str, Any], features: Collection[str]) -> None:
    """Which jobs may be interrupted, and what they lose then."""
    if PREEMPTION.name in features and random.random() < 0.7:
        for job in data["jobs"]:
            job.update(interruptions(random, job["iterations"]))


def interruptions(random: Random, iterations: int) -> dict[str, Any]:
    """Whether a job of so many iterations may be interrupted, and what it loses then."""
    fields: dict[str, Any] = {}
    if random.random() < 0.25:
        fields["preemptible"] = False
    if random.random() < 0.6:
        some = [None, 1, 2, 3, 5, 10, max(1, iterations // 2), iterations + 1]
        fields["checkpoint_iterations"] = random.choice(some)
    return fields


def with_interruptions(random: Random, instance: Instance, restore_seconds: float) -> Instance:
    """The instance with preemption, and jobs that may not be interrupted, or lose work then."""
    jobs = tuple(
        job.model_copy(update=interruptions(random, job.iterations)) for job in instance.jobs
    )
    preemption = Preemption(restore_seconds=restore_seconds)
    return instance.model_copy(update={"jobs": jobs, "preemption": preemption})


@st.composite
def wide_instances(
    draw: st.DrawFn, *, jobs: int = 4, servers: int = 3, handles: Collection[str] = FEATURES
) -> Instance:
    """Hypothesis strategy: any features of those that a part handles, any objectives."""
    return random_wide(
        draw(st.randoms(use_true_random=False)),
        draw(st.sets(st.sampled_from([name for name in FEATURES if name in handles]))),
        jobs=draw(st.integers(1, jobs)),
        servers=draw(st.integers(1, servers)),
        objectives=draw(st.lists(st.sampled_from(OBJECTIVES), min_size=1, max_size=2, unique=True)),
    )


def placements_of_job(instance: Instance, j: int) -> Iterator[dict[int, int]]:
    """Every way to put a job on servers: all sizes, kept to its demands later, by the verifier."""
    job = instance.jobs[j]
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    if job.running is not None:
        yield {index[name]: len(gpus) for name, gpus in job.running.gpus.items()}
        return
    capacities = [server.gpus for server in instance.cluster.servers]
    for size in job.sizes:
        yield from count_vectors(capacities, size)


def has_memory(instance: Instance, job: Job, servers: Iterable[int]) -> bool:
    """Whether a worker alone on a GPU of each of these servers has the memory that it needs."""
    cluster = instance.cluster
    sizes = (cluster.memory_gb_of(cluster.servers[s]) for s in servers)
    return all(size is None or size >= (job.memory_gb or 0) for size in sizes)


def every_wide_schedule(instance: Instance, latest: int) -> Iterator[Schedule]:
    """Every feasible schedule whose starts are below a slot, by the slot-by-slot reading."""
    return (schedule for schedule, _ in every_wide_report(instance, latest))


def every_wide_report(instance: Instance, latest: int) -> Iterator[tuple[Schedule, Report]]:
    """Every feasible schedule as above, and the verifier's report on it."""
    jobs = range(len(instance.jobs))
    starts = [[0] if job.running else range(latest) for job in instance.jobs]
    for rings in product(*(list(placements_of_job(instance, j)) for j in jobs)):
        for begun in product(*starts):
            runs = [Run(instance.jobs[j], begun[j], rings[j]) for j in jobs]
            try:
                ends = simulate(instance, runs, slot_by_slot=True).completion
            except KeyError:
                continue  # A type of GPU that the job cannot use.
            if None in ends:
                continue
            schedule = _schedule(instance, begun, [end or 0 for end in ends], rings)
            if schedule is not None:
                report = verify(instance, schedule, slot_by_slot=True)
                if report.feasible:
                    yield schedule, report


def _schedule(
    instance: Instance, starts: Sequence[int], ends: Sequence[int], rings: Sequence[dict[int, int]]
) -> Schedule | None:
    """With GPUs numbered, running jobs on theirs; None if some server has too few."""
    try:
        assignments = assign_gpus(instance, starts, ends, rings)
    except InputError:
        return None
    return Schedule(
        schema_version=1, instance=instance.name, method="enumeration", assignments=assignments
    )


def optimum(instance: Instance, latest: int | None = None) -> tuple[Value, ...] | None:
    """The least values of the instance's objectives, in their order; None if it is infeasible."""
    best: tuple[Value, ...] | None = None
    for _, report in every_wide_report(instance, latest or horizon_of(instance)):
        assert report.objective is not None
        values = tuple(report.objective[name] for name in instance.objectives)
        best = values if best is None or values < best else best
    return best
