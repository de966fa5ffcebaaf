"""The cheapest replicas beside given jobs, slot by slot over all that may be on GPUs by index.

This is slow, and hard to get wrong: no GPU is renumbered, replicas stay where they begin, and each
slot tries all sets of replicas. So it needs none of the arguments of the exact model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice
from math import ceil
from random import Random
from typing import Any, NamedTuple

from serving_instances import batch, demand, serves, service, variant
from sharing_enumeration import every_shared_report
from sharing_instances import give_slices
from wide_instances import random_wide

from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.model import horizon_of
from rarmodel.model.objectives import COST, Value
from rarmodel.schema import Instance, Replica, Schedule
from rarmodel.schema.tenants import lineages
from rarmodel.verifier import verify


class Place(NamedTuple):
    """A variant on GPUs of a server."""

    service: int
    variant: int
    server: int
    gpus: tuple[int, ...]


On = Mapping[tuple[int, int], Sequence[int]]
"""By server and GPU: the jobs that are there in a slot."""
Up = tuple[tuple[Place, int], ...]
"""Replicas that are up, and for how many slots each starts up still."""
Stay = tuple[Place, int, int]
"""A replica, and from when to when it is up."""


def give_service(random: Random, data: dict[str, Any]) -> None:
    """A service for the first slots, with replicas of slices, whole GPUs, or both."""
    seconds = data["time"]["slot_seconds"]
    slices = data["cluster"].get("gpu_slices", 1)
    variants = []
    for i in range(random.choice([1, 1, 2])):
        fields: dict[str, Any] = {"accuracy": random.choice([0.5, 0.9])}
        if slices > 1 and random.random() < 0.7:
            fields["slices"] = random.randint(1, slices)
        elif random.random() < 0.3:
            fields["gpus"] = 2
        if random.random() < 0.4:
            fields["memory_gb"] = random.choice([4, 8.05, 16])
        if random.random() < 0.4:
            fields["startup_seconds"] = random.choice([0.5, 1, 2]) * seconds
        variants.append(variant(f"v{i}", batch(1, random.choice([10.0, 20.0])), **fields))
    cut = random.randint(1, 2)
    start = random.choice([0, 0, 0, 1])
    entries = [
        demand(start, start + cut, random.choice([30, 30, 70])),
        demand(start + cut, start + 3, random.choice([0, 30, 30, 70])),
    ]
    asked: dict[str, Any] = {}
    if random.random() < 0.4:
        asked["min_accuracy"] = 0.6
        variants[0]["accuracy"] = random.choice([0.5, 0.9, 0.9, 0.9])
    if data.get("tenants") and random.random() < 0.7:
        asked["tenant"] = random.choice(data["tenants"])["name"]
    if random.random() < 0.2:
        asked["servers"] = [random.choice(data["cluster"]["servers"])["name"]]
    data["services"] = [service("chat", *entries, variants=variants, **asked)]


def random_both(random: Random, features: Sequence[str], *, shared: bool, **sizes: Any) -> Instance:
    """A tiny instance with a service beside jobs, which may share GPUs; else replicas alone do."""
    while True:
        data = random_wide(random, features, **sizes).model_dump(mode="json", exclude_unset=True)
        give_slices(random, data)
        data["cluster"]["gpu_slices"] = random.choice([1, 2, 2, 3])
        for server in data["cluster"]["servers"]:
            server["gpus"] = 2 if server["gpus"] > 1 else random.choice([1, 2])
            server.pop("gpu_slices", None)
        for one in data["cluster"].get("reservations", ()):
            one["gpus"] = 1
        if not shared:
            for job in data["jobs"]:
                job.pop("slices", None)
        give_service(random, data)
        if random.random() < 0.4:
            data["time"]["horizon"] = random.randint(3, 5)
        try:
            found = parse_instance(data)
        except InputError:
            continue  # Jobs without room.
        sliced = any(one.slices for one in found.services[0].variants)
        if any(job.slices for job in found.jobs) if shared else sliced:
            return found


def places(instance: Instance) -> list[Place]:
    """All places of replicas, if GPUs were idle."""
    cluster, found = instance.cluster, []
    for a, asked in enumerate(instance.services):
        for v, one in enumerate(asked.variants):
            for s, server in enumerate(cluster.servers):
                memory = cluster.memory_gb_of(server)
                if (
                    (asked.servers is None or server.name in asked.servers)
                    and one.gpu_type in {None, server.gpu_type}
                    and (one.slices or 0) <= cluster.slices_of(server)
                    and (memory is None or (one.memory_gb or 0) <= memory)
                ):
                    some = combinations(range(server.gpus), one.gpus)
                    found += [Place(a, v, s, gpus) for gpus in some]
    return found


class Beside:
    """Replicas beside jobs.

    Parameters
    ----------
    instance
        The problem.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.places = places(instance)
        self.last = max(entry.end for one in instance.services for entry in one.demand)
        self._sets: dict[Any, list[Counter[Place]]] = {}
        self._enough: dict[tuple[int, int, tuple[int, ...]], bool] = {}
        self._known: dict[Any, tuple[Fraction, tuple[Stay, ...]] | None] = {}
        seconds = Fraction(str(instance.time.slot_seconds))
        self._startup = [
            [max(0, ceil(Fraction(str(v.startup_seconds)) / seconds)) for v in one.variants]
            for one in instance.services
        ]
        self._above = lineages(instance.tenants)

    def cheapest(self, jobs: Sequence[On]) -> tuple[Fraction, tuple[Stay, ...]] | None:
        """The least cost of replicas beside jobs, and such replicas; None if none are enough.

        Parameters
        ----------
        jobs
            (slots of demand) The jobs on each GPU.
        """
        key = tuple(tuple(sorted((gpu, tuple(here)) for gpu, here in on.items())) for on in jobs)
        if key not in self._known:
            self._known[key] = self._searched(jobs)
        return self._known[key]

    def _searched(self, jobs: Sequence[On]) -> tuple[Fraction, tuple[Stay, ...]] | None:
        nothing: tuple[Up, ...] = ()
        states: dict[Up, tuple[Fraction, tuple[Up, ...]]] = {(): (Fraction(0), nothing)}
        for t in range(self.last):
            after: dict[Up, tuple[Fraction, tuple[Up, ...]]] = {}
            for up, (cost, path) in states.items():
                for some in self._fitting(t, jobs[t]):
                    now = self._going_on(up, some, t)
                    if self._answers(now, t):
                        paid = cost + sum(map(self._price, (place for place, _ in now)))
                        if now not in after or paid < after[now][0]:
                            after[now] = paid, (*path, now)
            states = after
        if not states:
            return None
        least = min(cost for cost, _ in states.values())
        path = next(path for cost, path in states.values() if cost == least)
        return least, tuple(self._stays(path))

    def _going_on(self, up: Up, some: Counter[Place], t: int) -> Up:
        """Replicas of a slot, of which as many as can be were up before."""
        now: list[tuple[Place, int]] = []
        for place, number in some.items():
            waits = sorted(max(0, wait - 1) for one, wait in up if one == place)[:number]
            new = self._startup[place.service][place.variant] if t else 0
            now += [(place, wait) for wait in [*waits, *[new] * (number - len(waits))]]
        return tuple(sorted(now))

    def _answers(self, up: Up, t: int) -> bool:
        for a, asked in enumerate(self.instance.services):
            ready = Counter(one.variant for one, wait in up if one.service == a and not wait)
            counts = [ready[v] for v in range(len(asked.variants))]
            key = t, a, tuple(counts)
            if key not in self._enough:
                self._enough[key] = all(
                    serves(asked, counts, Fraction(str(entry.requests_per_second)))
                    for entry in asked.demand
                    if entry.start <= t < entry.end
                )
            if not self._enough[key]:
                return False
        return True

    def many(self, most: int) -> bool:
        """Whether idle GPUs hold more than so many sets of replicas."""
        return sum(1 for _ in islice(self._on_top(Counter(), 0, {}), most + 1)) > most

    def _price(self, place: Place) -> Fraction:
        return COST.prices_of(self.instance)[place.server] * self._part(place)

    def _part(self, place: Place) -> Fraction:
        slices = self.instance.services[place.service].variants[place.variant].slices
        cluster = self.instance.cluster
        there = cluster.slices_of(cluster.servers[place.server])
        return Fraction(len(place.gpus)) if slices is None else Fraction(slices, there)

    def _fitting(self, t: int, on: On) -> list[Counter[Place]]:
        """All sets of replicas that fit beside jobs in a slot."""
        key = t, tuple(sorted((gpu, tuple(here)) for gpu, here in on.items()))
        if key not in self._sets:
            some = self._on_top(Counter(), 0, on)
            self._sets[key] = [one for one in some if self._allowed(one, on, t)]
        return self._sets[key]

    def _on_top(self, some: Counter[Place], first: int, on: On) -> Iterator[Counter[Place]]:
        yield some
        for i in range(first, len(self.places)):
            more = some + Counter([self.places[i]])
            if self._fits(more, on):
                yield from self._on_top(more, i, on)

    def _fits(self, some: Counter[Place], on: On) -> bool:
        """Whether slices and memory of each GPU are enough."""
        cluster = self.instance.cluster
        for s, server in enumerate(cluster.servers):
            most, memory_gb = cluster.slices_of(server), cluster.memory_gb_of(server)
            for gpu in range(server.gpus):
                users: list[Any] = [self.instance.jobs[j] for j in on.get((s, gpu), ())]
                for place, number in some.items():
                    if place.server == s and gpu in place.gpus:
                        asked = self.instance.services[place.service]
                        users += [asked.variants[place.variant]] * number
                slices = sum(most if one.slices is None else one.slices for one in users)
                memory = sum(Fraction(str(one.memory_gb or 0)) for one in users)
                if slices > most or (memory_gb is not None and memory > Fraction(str(memory_gb))):
                    return False
        return True

    def _allowed(self, some: Counter[Place], on: On, t: int) -> bool:
        """Whether reservations and caps of tenants allow replicas and jobs in a slot."""
        instance, cluster = self.instance, self.instance.cluster
        runs = {j for j, job in enumerate(instance.jobs) if job.running is not None}
        for s, server in enumerate(cluster.servers):
            kept = {g for (a, g), here in on.items() if a == s and runs.intersection(here)}
            taken = {g for (a, g), here in on.items() if a == s and here}
            taken |= {g for place in some if place.server == s for g in place.gpus}
            away = sum(
                one.gpus
                for one in cluster.reservations
                if one.server == server.name and one.start <= t and (one.end is None or t < one.end)
            )
            if len(taken - kept) > max(0, server.gpus - away - len(kept)):
                return False
        for tenant in instance.tenants:
            mine = [
                (place, number)
                for place, number in some.items()
                if tenant.name in self._above.get(instance.services[place.service].tenant or "", ())
            ]
            if tenant.gpus is None or not mine:
                continue
            held: dict[bool, Fraction] = {True: Fraction(0), False: Fraction(0)}
            for (s, _), here in on.items():
                for j in here:
                    job, most = instance.jobs[j], cluster.slices_of(cluster.servers[s])
                    if tenant.name in self._above.get(job.tenant or "", ()):
                        held[j in runs] += Fraction(job.slices or most, most)
            replicas = (number * self._part(place) for place, number in mine)
            others = held[False] + sum(replicas, Fraction(0))
            if others > max(Fraction(0), tenant.gpus - held[True]):
                return False
        return True

    def _stays(self, path: Sequence[Up]) -> Iterator[Stay]:
        """Replicas of a path one by one: of a place, those that wait longest began last."""
        begun: dict[Place, list[tuple[int, int]]] = {}
        for t, now in enumerate([*path, ()]):
            for place in {one for one, _ in now} | begun.keys():
                waits = sorted(wait for one, wait in now if one == place)
                before = sorted((max(0, wait - 1), start) for wait, start in begun.get(place, []))
                for _, start in before[len(waits) :]:
                    yield place, start, t
                kept = before[: len(waits)]
                starts = [start for _, start in kept] + [t] * (len(waits) - len(kept))
                begun[place] = list(zip(waits, starts, strict=True))


def best_of_all(
    instance: Instance, latest: int | None = None
) -> tuple[tuple[Value, ...], Schedule] | None:
    """The least values of the objectives over all schedules by GPU, and such a schedule."""
    alone = instance.model_copy(update={"services": ()})
    names = [server.name for server in instance.cluster.servers]
    beside = Beside(instance)
    best: tuple[tuple[Value, ...], Schedule] | None = None
    for schedule, report in every_shared_report(alone, latest or horizon_of(instance)):
        assert report.objective is not None
        values = [report.objective[name] for name in instance.objectives]
        if best is not None and tuple(values) >= best[0]:
            continue
        on: list[dict[tuple[int, int], list[int]]] = [{} for _ in range(beside.last)]
        for j, one in enumerate(schedule.assignments):
            for name, gpus in one.gpus.items():
                for t in range(one.start, min(report.completion[one.job] or 0, beside.last)):
                    for gpu in gpus:
                        on[t].setdefault((names.index(name), gpu), []).append(j)
        found = beside.cheapest(on)
        if found is None:
            continue
        cost, stays = found
        priced = [
            value + cost if name == COST.name else value
            for name, value in zip(instance.objectives, values, strict=True)
        ]
        if best is None or tuple(priced) < best[0]:
            replicas = tuple(
                Replica.model_validate(
                    {
                        "service": instance.services[place.service].name,
                        "variant": instance.services[place.service].variants[place.variant].name,
                        "from": start,
                        "to": end,
                        "gpus": {names[place.server]: place.gpus},
                    }
                )
                for place, start, end in stays
            )
            best = tuple(priced), schedule.model_copy(update={"services": replicas})
    if best is not None:
        report = verify(instance, best[1], slot_by_slot=True)
        assert report.feasible, report.violations
        assert report.objective is not None
        assert tuple(report.objective.values()) == best[0]
    return best
