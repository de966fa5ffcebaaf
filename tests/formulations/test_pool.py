"""Pools against brute force: every limit, every schedule, every numbering of GPUs."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from depth import examples
from enumeration import count_vectors, optimal_makespan
from hypothesis import given
from random_instances import instances, random_instance
from scopes import scope_of

from rarmodel import load_instance
from rarmodel.engine import Engine, placements_of
from rarmodel.errors import InputError, UsageError
from rarmodel.exact.numbered_schedules import schedule_of
from rarmodel.files import to_json
from rarmodel.formulations import Plan
from rarmodel.formulations.gpu_loads import Stay, least_busy_numbering
from rarmodel.formulations.heuristic_pool import heuristic_schedules
from rarmodel.formulations.pool import Entry, holds_all, pool_of, size_of_pool, unfit
from rarmodel.heuristics import estimate, first_fit, list_scheduling, run_policy
from rarmodel.heuristics.clock import ListScheduler
from rarmodel.heuristics.policies import installed_policies
from rarmodel.model import horizon_of, job_extremes
from rarmodel.schema import Instance
from rarmodel.verifier import verify


def small(instance: Instance, horizon: int = 60) -> Instance:
    """With a horizon at which every single limit can be tried."""
    return instance.model_copy(
        update={"time": instance.time.model_copy(update={"horizon": horizon})}
    )


def by_every_limit(instance: Instance, horizon: int) -> set[tuple[int, ...]]:
    """Starts and GPUs of all schedules by heuristics that draw nothing, each limit by itself."""
    scheduler = ListScheduler(instance, estimate(instance).work)
    found = set()
    for policy in installed_policies():
        if not policy.bisect:
            continue
        order = np.array(policy.order(instance), np.int64)
        for parameters in policy.parameters(instance, 0):
            for limit in range(1, horizon_of(instance) + 1):
                makespan = scheduler.run(
                    policy.rule, np.array(parameters), order, float(limit), horizon + 1
                )
                if makespan >= 0:
                    found.add(
                        tuple(
                            number
                            for start, gpus in scheduler.assignments()
                            for number in (start, *gpus.tolist())
                        )
                    )
    return found


def flat(instance: Instance, horizon: int) -> set[tuple[int, ...]]:
    """What the pool has, in the same form."""
    first = np.cumsum([0, *(server.gpus for server in instance.cluster.servers)]).tolist()
    return {
        tuple(
            number
            for start, held in zip(made.starts, made.gpus, strict=True)
            for number in (start, *sorted(first[s] + i for s, on in held.items() for i in on))
        )
        for made in heuristic_schedules(instance, horizon)
    }


@examples(15)
@given(instances(jobs=6, servers=4))
def test_the_pool_has_the_schedule_of_every_limit_and_parameter(instance: Instance) -> None:
    instance = small(instance)
    assert by_every_limit(instance, 60) <= flat(instance, 60)


@pytest.mark.parametrize("name", ["rack-tree", "philly-2869ce"])
def test_the_pool_has_the_schedule_of_every_limit_on_larger_clusters(name: str) -> None:
    instance = load_instance(name)
    horizon = 400
    every = by_every_limit(instance, horizon)
    assert every
    assert every <= flat(instance, horizon)


@examples(20)
@given(instances(jobs=6, servers=4))
def test_the_pool_has_the_best_schedule_of_each_heuristic(instance: Instance) -> None:
    for policy in installed_policies():
        found = run_policy(instance, policy)
        if found is not None:
            pool = pool_of(scope_of(instance, found.makespan))
            assert pool
            assert pool[0].makespan <= found.makespan


@examples(20)
@given(instances(jobs=5, servers=3))
def test_entries_are_what_the_verifier_says_of_them(instance: Instance) -> None:
    horizon = sum(extreme.least_slots for extreme in job_extremes(instance))
    pool = pool_of(scope_of(instance, horizon))
    assert pool  # One job after another is within this horizon.
    assert len({entry.times for entry in pool}) == len(pool)
    assert [entry.makespan for entry in pool] == sorted(entry.makespan for entry in pool)
    for entry in pool:
        plan = Plan(entry.starts, entry.workers, entry.gpus)
        report = verify(instance, schedule_of(instance, plan, "pool"))
        assert report.feasible
        assert tuple(report.completion.values()) == entry.completions
        assert report.makespan == entry.makespan
        assert entry.makespan <= horizon


def brute_force_times(instance: Instance, horizon: int) -> set[Any]:
    """Starts and completions of every schedule, from trying all of them one by one."""
    engine = Engine(instance)
    capacities = [server.gpus for server in instance.cluster.servers]
    ways = [list(count_vectors(capacities, job.size)) for job in instance.jobs]
    times = set()
    for placed in product(*ways):
        for starts in product(range(horizon), repeat=len(ways)):
            evaluation = engine.evaluate(np.array(starts), placements_of(placed), horizon)
            if evaluation.makespan >= 0:
                times.add((starts, tuple(evaluation.completion.tolist())))
    return times


@pytest.mark.parametrize("seed", range(8))
def test_the_pool_of_all_has_the_times_of_every_schedule(seed: int) -> None:
    instance = random_instance(
        Random(seed),
        jobs=3,
        servers=2,
        tree=seed % 2 == 0,
        stall=seed % 4 < 2,
        most_slots=3,
        most_gpus=3,
    )
    optimum = optimal_makespan(instance)
    assert optimum is not None
    for horizon in (optimum - 1, optimum, min(optimum + 1, 8)):
        scope = scope_of(instance, horizon, pool="all")
        assert unfit(scope) is None
        assert holds_all(scope)
        pool = pool_of(scope)
        times = brute_force_times(instance, horizon)
        assert {entry.times for entry in pool} == times
        assert len(pool) == len(times) == size_of_pool(scope)
        assert bool(pool) == (horizon >= optimum)


@pytest.mark.parametrize("seed", range(6))
def test_the_pool_of_all_holds_feasible_schedules(seed: int) -> None:
    instance = random_instance(Random(seed), jobs=4, servers=2, tree=False, most_slots=3)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    work = estimate(instance).work
    for entry in pool_of(scope_of(instance, optimum, pool="all"), work)[:200]:
        plan = Plan(entry.starts, entry.workers, entry.gpus)
        assert verify(instance, schedule_of(instance, plan, "pool")).feasible


def test_a_pool_of_all_that_is_too_large_is_refused_in_one_line() -> None:
    for name, horizon in (("two-servers", 60), ("paper-160", 400)):
        reason = unfit(scope_of(load_instance(name), horizon, pool="all"))
        assert reason is not None
        assert reason.startswith(f"the pool of all schedules within {horizon} slots is too large")
        assert "\n" not in reason


def brute_force_busiest(gpus: int, stays: list[Stay]) -> float:
    """The least load of the busiest GPU, from every choice of GPUs for every stay."""
    best = float("inf")
    for chosen in product(*(combinations(range(gpus), stay.workers) for stay in stays)):
        pairs = [(s, set(g)) for s, g in zip(stays, chosen, strict=True)]
        if any(
            one.start < other.end and other.start < one.end and held & theirs
            for (one, held), (other, theirs) in combinations(pairs, 2)
        ):
            continue
        best = min(best, max(sum(s.work for s, held in pairs if g in held) for g in range(gpus)))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_numbering_keeps_the_busiest_gpu_least_busy(seed: int) -> None:
    random = Random(seed)
    gpus = random.randint(1, 4)
    stays: list[Stay] = []
    for _ in range(random.randint(1, 5)):
        start = random.randint(0, 6)
        stay = Stay(start, start + random.randint(1, 4), random.randint(1, gpus), random.random())
        needed = [
            sum(s.workers for s in (*stays, stay) if s.start <= t < s.end)
            for t in range(start, stay.end)
        ]
        if max(needed) <= gpus:
            stays.append(stay)
    numbering = least_busy_numbering(gpus, tuple(stays))
    assert [len(set(g)) for g in numbering] == [stay.workers for stay in stays]
    for (one, held), (other, theirs) in combinations(zip(stays, numbering, strict=True), 2):
        assert not (one.start < other.end and other.start < one.end and set(held) & set(theirs))
    busiest = max(
        sum(s.work for s, held in zip(stays, numbering, strict=True) if g in held)
        for g in range(gpus)
    )
    assert busiest == pytest.approx(brute_force_busiest(gpus, stays))


INSTANCE = random_instance(Random(3), jobs=4, servers=2, tree=False)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Schedules of first-fit and list scheduling."""
    paths = []
    for policy in (first_fit, list_scheduling):
        found = run_policy(INSTANCE, policy)
        assert found is not None
        path = tmp_path / f"{policy.name}.json"
        path.write_text(to_json(found.schedule), encoding="utf-8")
        paths.append(str(path))
    return paths


def test_files_make_a_pool_with_their_gpus(files: list[str]) -> None:
    scope = scope_of(INSTANCE, 1000, schedules=files)
    assert not holds_all(scope)
    assert unfit(scope) is None
    found = [run_policy(INSTANCE, policy) for policy in (first_fit, list_scheduling)]
    pool = pool_of(scope)
    assert size_of_pool(scope) == 2
    assert {entry.makespan for entry in pool} == {f.makespan for f in found if f}
    for entry in pool:
        plan = Plan(entry.starts, entry.workers, entry.gpus)
        schedule = schedule_of(INSTANCE, plan, "-")
        assert any(f and f.schedule.assignments == schedule.assignments for f in found)


def test_schedules_in_memory_make_the_same_pool_as_their_files(files: list[str]) -> None:
    found = [run_policy(INSTANCE, policy) for policy in (first_fit, list_scheduling)]
    schedules = [f.schedule for f in found if f]
    assert pool_of(scope_of(INSTANCE, 1000, schedules=schedules)) == pool_of(
        scope_of(INSTANCE, 1000, schedules=files)
    )


def test_schedules_beyond_the_horizon_are_left_out(files: list[str]) -> None:
    assert pool_of(scope_of(INSTANCE, 1, schedules=files)) == ()


def test_a_file_that_does_not_exist_is_named(files: list[str]) -> None:
    with pytest.raises(InputError, match=r"^nope.json: cannot be read: no such file"):
        pool_of(scope_of(INSTANCE, 1000, schedules=[*files, "nope.json"]))


def test_a_malformed_file_is_named_with_the_place(files: list[str]) -> None:
    data = json.loads(Path(files[0]).read_text(encoding="utf-8"))
    del data["assignments"][1]["start"]
    Path(files[0]).write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match=r"first-fit.json: assignments\[1\].start: "):
        pool_of(scope_of(INSTANCE, 1000, schedules=files))


def test_a_schedule_that_fails_verification_is_named(files: list[str]) -> None:
    data = json.loads(Path(files[1]).read_text(encoding="utf-8"))
    del data["assignments"][2]
    Path(files[1]).write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match=r"list-scheduling.json: .*'j2'"):
        pool_of(scope_of(INSTANCE, 1000, schedules=files))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"pool": "some"}, "pool: .some.; 'heuristics' or 'all' is expected"),
        ({"pool": "all", "schedules": []}, "'pool' and 'schedules' exclude each other"),
        ({"schedules": "a.json"}, "schedules: 'a.json'; a list of files is expected"),
        ({"schedules": {"a": 1}}, "schedules: .*; a list of files is expected"),
        ({"schedules": ["a.json", 7]}, r"schedules\[1\]: 7; a file's name is expected"),
    ],
)
def test_data_that_names_no_pool_is_a_usage_error(data: dict[str, Any], message: str) -> None:
    scope = replace(scope_of(INSTANCE, 1000), data=data)
    for function in (size_of_pool, unfit, pool_of):
        if function is unfit and "schedules" in data and "pool" not in data:
            continue
        with pytest.raises(UsageError, match=message):
            function(scope)


def test_an_empty_list_of_files_is_an_empty_pool() -> None:
    assert pool_of(scope_of(INSTANCE, 1000, schedules=[])) == ()


def test_gpus_are_compared_whatever_their_order() -> None:
    entry = Entry((0,), (1,), ({0: (1, 0)},))
    assert entry.is_at([{0: (0, 1)}])
    assert not entry.is_at([{0: (0, 2)}])
