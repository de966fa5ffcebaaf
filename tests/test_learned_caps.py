"""Caps that additions come to: what is learned, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from math import inf
from random import Random
from time import perf_counter
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from additions import apart, exclusive, few_at_once, not_at_once_in_a_row, power_cap
from known_solves import known_of
from random_instances import random_instance

import rarmodel
from rarmodel.exact.caps_as_resources import with_resources
from rarmodel.exact.first_incumbents import first_incumbents
from rarmodel.exact.insertion import Insertion
from rarmodel.exact.insertion_orders import inserted_anew
from rarmodel.exact.learned_caps import LearnedCap, learned_caps, slots_needed
from rarmodel.exact.ranking import Incumbent, Ranking
from rarmodel.formulations import Scope
from rarmodel.formulations.restriction import Choice
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import random_placement, run_policy
from rarmodel.schema import Instance
from rarmodel.verifier import verify


def cap_by_day(model: Any, scope: Scope) -> None:
    """Fewer GPUs in every other ten slots; other slots have no row, or a row of another form."""
    model.by_day = pyo.Constraint(
        range(scope.horizon),
        rule=lambda m, t: (
            sum(m.held[j, s, t] for j in scope.jobs for s in scope.servers) + t
            <= t + (3 if t // 10 % 2 == 0 else 5)
        ),
    )


def cap_of_a_rack(model: Any, scope: Scope) -> None:
    """Watts of the first server: what jobs use depends on where they are."""
    first = next(iter(scope.servers))
    model.rack = pyo.Constraint(
        range(scope.horizon),
        rule=lambda m, t: 300 * sum(m.held[j, first, t] for j in scope.jobs) <= 600,
    )


def few_large(model: Any, scope: Scope) -> None:
    """At most one job of several GPUs at once."""
    large = [j for j, job in scope.jobs.items() if job.size > 1]
    model.few_large = pyo.Constraint(
        range(scope.horizon),
        rule=lambda m, t: (
            sum(m.running[j, t] for j in large) <= 1 if large else pyo.Constraint.Feasible
        ),
    )


def ranking_of(instance: Instance, added: Callable[[Any, Scope], None], **data: Any) -> Ranking:
    return Ranking(known_of(instance, TIME_INDEXED.extended("own", added), **data))


def at_random(ranking: Ranking, seed: int) -> Incumbent:
    # A random schedule may be longer than the horizon.
    tries = (run_policy(ranking.known.instance, random_placement, seed=n) for n in count(seed * 99))
    made = next(one for one in tries if one is not None)
    found = ranking.ranked(made.schedule)
    assert found is not None
    return found


def some(seed: int) -> Instance:
    """A small instance that random placement can schedule."""
    random = Random(seed)
    while True:
        found = random_instance(random, jobs=5, servers=2, tree=bool(seed % 2), most_slots=4)
        if run_policy(found, random_placement, seed=0) is not None:
            return found


MOST = 16


def used(cap: LearnedCap, job: str, **workers: int) -> float:
    return cap.used(job, Choice(workers, 1, range(1)))


def test_cap_on_gpus_is_learned_with_its_room_and_its_uses() -> None:
    instance = some(1)
    ranking = ranking_of(instance, power_cap, gpus_at_once=2)
    caps = learned_caps(ranking, at_random(ranking, 0), 50)
    (cap,) = caps.values()
    assert list(caps) == [("power_cap",)]
    assert cap.room.tolist() == [2] * 50
    one, other = (server.name for server in instance.cluster.servers)
    for job in instance.jobs:
        assert used(cap, job.name, **{one: 1, other: 2}) == pytest.approx(3)


def test_room_of_each_slot_is_its_own_whatever_schedule_it_is_learned_from() -> None:
    ranking = ranking_of(some(2), cap_by_day)
    rooms = [
        next(iter(learned_caps(ranking, at_random(ranking, seed), 40).values())).room
        for seed in range(3)
    ]
    assert rooms[0].tolist() == ([3] * 10 + [5] * 10) * 2
    assert all(np.array_equal(rooms[0], one) for one in rooms)


def test_pairs_that_may_not_overlap_are_a_cap_each() -> None:
    instance = some(3)
    names = [job.name for job in instance.jobs]
    pairs = [(names[0], names[1]), (names[2], names[4])]
    ranking = ranking_of(instance, exclusive, exclusive=pairs)
    caps = learned_caps(ranking, at_random(ranking, 0), 30)
    assert set(caps) == {("exclusive", *pair) for pair in pairs}
    assert all(set(cap.uses) == set(key[1:]) for key, cap in caps.items())


def test_what_is_no_cap_is_left_alone() -> None:
    ranking = ranking_of(some(4), not_at_once_in_a_row)
    assert learned_caps(ranking, at_random(ranking, 0), 30) == {}


@pytest.mark.parametrize("added", [few_at_once, apart, few_large, cap_by_day])
@pytest.mark.parametrize("seed", range(12))
def test_verifier_reads_caps_as_resources_as_the_additions_themselves(
    seed: int, added: Callable[[Any, Scope], None]
) -> None:
    ranking = ranking_of(some(seed), added)
    found = [at_random(ranking, number) for number in range(6)]
    caps = learned_caps(ranking, found[0], 100)
    if added is not few_large:
        assert caps
    stated = with_resources(ranking.known.instance, caps)
    assert stated is not None
    for one in found:
        broken = {violation.constraint for violation in verify(stated, one.schedule).violations}
        assert bool(one.violated) == (broken == {"resource"})


def test_caps_of_a_place_are_no_resources_and_plans_keep_them() -> None:
    instance = rarmodel.generate("contention", seed=1, jobs=12)
    ranking = ranking_of(instance, cap_of_a_rack)
    begin = at_random(ranking, 0)
    assert begin.violated
    caps = learned_caps(ranking, begin, ranking.most)
    assert with_resources(instance, caps) is None
    insertion = Insertion(ranking.scope(ranking.most), None, caps)
    made = list(inserted_anew(ranking, insertion, begin, perf_counter() + 5))
    assert made
    assert not min(made, key=lambda one: one.rank).violated
    assert first_incumbents(ranking, inf).admissible is not None


def test_slots_that_caps_ask_for_are_those_of_their_area() -> None:
    instance = some(5)
    ranking = ranking_of(instance, power_cap, gpus_at_once=1)
    found = at_random(ranking, 0)
    caps = learned_caps(ranking, found, 20)
    area = sum(
        sum(workers.values()) * (found.times.ends[j] - found.times.starts[j])
        for j, workers in found.times.workers.items()
    )
    assert abs(slots_needed(caps, found.times) - area) <= 1


def test_caps_on_jobs_that_choose_their_ring_sizes() -> None:
    instance = rarmodel.generate("wide", seed=1, jobs=12)
    assert any(len(job.sizes) > 1 for job in instance.jobs)
    found = rarmodel.solve(
        instance,
        formulation=TIME_INDEXED.extended("few", power_cap),
        data={"gpus_at_once": MOST},
        time_limit=3,
        threads=1,
    )
    assert found.schedule is not None
    ends = rarmodel.verify(instance, found.schedule).completion
    held = [0] * max(end or 0 for end in ends.values())
    for one in found.schedule.assignments:
        for t in range(one.start, ends[one.job] or 0):
            held[t] += sum(map(len, one.segments[0].gpus.values()))
    assert max(held) <= MOST


def test_additions_that_ask_for_more_slots_than_there_are_are_said_to() -> None:
    instance = rarmodel.generate("contention", seed=1, jobs=8)
    known = rarmodel.solve(instance, method="search", time_limit=1, threads=1)
    assert known.makespan is not None
    time = instance.time.model_copy(update={"horizon": known.makespan + 5})
    most = max(job.size for job in instance.jobs)
    few = TIME_INDEXED.extended("few", power_cap)
    found = rarmodel.solve(
        instance.model_copy(update={"time": time}),
        formulation=replace(few, unfit=lambda _: "no model today"),
        data={"gpus_at_once": most},
        time_limit=4,
        threads=1,
    )
    assert found.status == "unknown"
    assert "the additions ask for about" in found.stopped


def test_search_under_caps_betters_an_admissible_schedule_that_is_near() -> None:
    instance = rarmodel.generate("contention", seed=1, jobs=40)
    longest = sorted(instance.jobs, key=lambda job: -job.size * job.iterations)
    names = [job.name for job in longest[10:16]]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    ranking = ranking_of(instance, exclusive, exclusive=pairs)
    known = ranking.known
    short = rarmodel.solve(instance, method="search", iterations=200, threads=1).schedule
    assert short is not None
    begin = ranking.ranked(short)
    assert begin is not None
    assert begin.violated
    stated = with_resources(instance, learned_caps(ranking, begin, ranking.most))
    assert stated is not None
    kept = rarmodel.solve(stated, method="search", iterations=200, threads=1)
    assert kept.schedule is not None
    assert kept.makespan is not None
    wait = int(1.19 * begin.times.latest) - kept.makespan
    assert wait > 0
    later = [
        one.model_copy(update={"start": one.start + wait}) for one in kept.schedule.assignments
    ]
    known.schedule = kept.schedule.model_copy(update={"assignments": tuple(later)})
    known.offered = [(short, known.checked(short))]
    found = first_incumbents(ranking, perf_counter() + 10)
    assert found.broken is None
    assert found.admissible is not None
    assert found.admissible.times.latest < kept.makespan + wait


def test_two_large_jobs_of_160_at_once_are_scheduled() -> None:
    instance = rarmodel.load_instance("paper-160")
    time = instance.time.model_copy(update={"horizon": 1200})
    instance = instance.model_copy(update={"time": time})

    def eight_large(model: Any, scope: Scope) -> None:
        large = [j for j, job in scope.jobs.items() if job.size > 4]
        model.large = pyo.Constraint(
            range(scope.horizon), rule=lambda m, t: sum(m.running[j, t] for j in large) <= 8
        )

    ranking = ranking_of(instance, eight_large)
    known = ranking.known
    made = rarmodel.solve(instance, method="sjf-bco").schedule
    assert made is not None
    known.offered.append((made, known.checked(made)))
    found = first_incumbents(ranking, perf_counter() + 8).admissible
    assert found is not None
    assert not found.violated
