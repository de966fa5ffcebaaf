"""The bundled instances: their files, what is known of them, and what each is there to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np
import pytest
from enumeration import FAR, count_vectors, optimal_makespan

import rarmodel
from rarmodel.bounds import area, best_bound
from rarmodel.engine import Engine, evaluate, placements_of
from rarmodel.files import parse_instance, to_json
from rarmodel.instances import EXAMPLES, LIBRARY, text_of
from rarmodel.methods import Result
from rarmodel.model import job_extremes, timing
from rarmodel.schema import Instance, Job, TreeNetwork
from rarmodel.verifier import Ring, Run, simulate

FOLDER = files("rarmodel.instances")
ENTRIES = {row["name"]: row for row in rarmodel.list_instances(EXAMPLES)}
OPTIMA = {name: row["optimum"] for name, row in ENTRIES.items() if row["optimum"] is not None}
HEURISTICS = ("sjf-bco", "sjf-bco-occupied-first", "first-fit", "list-scheduling", "random")
RUNS = [(method, 0) for method in HEURISTICS] + [("random", seed) for seed in range(1, 6)]
LARGE = {"paper-160", "philly-2869ce"}
"""Too large for the exact formulations."""

COUNTER_EXAMPLES = [name for name in ENTRIES if name.endswith("-fails")]

every_instance = pytest.mark.parametrize("name", ENTRIES)
every_teaching_instance = pytest.mark.parametrize(
    "name", [name for name in ENTRIES if name not in COUNTER_EXAMPLES]
)


@cache
def instance_of(name: str) -> Instance:
    return rarmodel.load_instance(name)


@cache
def heuristic(name: str, method: str, seed: int = 0) -> Result:
    return rarmodel.solve(instance_of(name), method=method, seed=seed)


@cache
def exact(name: str) -> Result:
    return rarmodel.solve(instance_of(name), formulation="time-indexed", solver="highs")


@cache
def searched(name: str) -> Result:
    return rarmodel.solve(instance_of(name), method="search", iterations=60, threads=1)


def makespan(name: str, method: str) -> int:
    found = heuristic(name, method).makespan
    assert found is not None
    return found


def workers_of(result: Result) -> dict[str, dict[str, int]]:
    """Workers of each job on each server of a result's schedule."""
    assert result.schedule
    return {
        assignment.job: {server: len(gpus) for server, gpus in assignment.gpus.items()}
        for assignment in result.schedule.assignments
    }


def split_jobs(result: Result) -> set[str]:
    """Jobs that a result's schedule puts on several servers."""
    return {job for job, workers in workers_of(result).items() if len(workers) > 1}


def rings_of(instance: Instance, **workers: dict[str, int]) -> dict[str, Ring]:
    """Rings of some jobs that all start at slot 0, as long as all of them are active."""
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    jobs = {job.name.replace("-", "_"): job for job in instance.jobs}
    runs = [
        Run(jobs[name], 0, {index[server]: count for server, count in on.items()})
        for name, on in workers.items()
    ]
    return dict(simulate(instance, runs).periods[0].rings)


def lone_slots(instance: Instance, job: Job, workers: dict[int, int]) -> int:
    """Execution time of a job alone in the cluster."""
    (end,) = simulate(instance, [Run(job, 0, workers)]).completion
    assert end is not None
    return end


# Files and library


def test_library_lists_every_instance_file_once() -> None:
    names = [
        path.name.removesuffix(".json")
        for path in FOLDER.iterdir()
        if path.name.endswith(".json") and path.name != LIBRARY
    ]
    assert sorted(names) == sorted(ENTRIES)


def test_examples_begin_with_the_instance_to_solve_by_hand_and_end_with_the_real_one() -> None:
    first, *_, last = ENTRIES
    assert [first, last] == ["two-servers", "philly-2869ce"]


@every_instance
def test_file_is_formatted_as_the_project_writes_it_and_named_after_the_instance(name: str) -> None:
    text = text_of(name)
    assert text is not None
    instance = parse_instance(text, name)
    assert instance.name == name
    assert instance.description
    assert to_json(instance) == text


# What is known


@pytest.mark.parametrize("name", OPTIMA)
def test_known_optimum_is_proven_again(name: str) -> None:
    result = searched(name) if name in LARGE else exact(name)
    assert (result.status, result.makespan) == ("optimal", OPTIMA[name])


@every_instance
def test_best_known_makespan_is_attained_and_not_below_the_lower_bound(name: str) -> None:
    results = [heuristic(name, method) for method in HEURISTICS]
    results.append(searched(name) if name in LARGE else exact(name))
    best = min(result.makespan for result in results if result.makespan is not None)
    assert best_bound(instance_of(name)).slots <= best == ENTRIES[name]["best_known"]


@every_teaching_instance
@pytest.mark.parametrize(("method", "seed"), RUNS, ids=str)
def test_method_is_feasible_and_engine_and_verifier_agree(
    name: str, method: str, seed: int
) -> None:
    result = heuristic(name, method, seed)
    assert result.schedule
    report = rarmodel.verify(instance_of(name), result.schedule)
    assert report.feasible
    assert evaluate(instance_of(name), result.schedule).makespan == report.makespan


@every_teaching_instance
def test_speed_never_falls_to_zero(name: str) -> None:
    assert all(extreme.worst_speed > 0 for extreme in job_extremes(instance_of(name)))


# What each instance is there to show


@pytest.mark.parametrize(
    "name",
    ["two-servers", "fragmented-uneven", "fragmented-leftovers", "rack-tree", "start-later"],
)
def test_every_heuristic_needs_half_as_much_again_as_the_optimum(name: str) -> None:
    assert 2 * min(makespan(name, method) for method in HEURISTICS) >= 3 * OPTIMA[name]


def test_two_servers_optimum_fills_every_gpu_all_the_time() -> None:
    instance = instance_of("two-servers")
    assert [extreme.least_slots for extreme in job_extremes(instance)] == [8, 4, 4, 8]
    assert area(instance) == OPTIMA["two-servers"] == 12


def test_two_servers_list_scheduling_splits_jobs_that_then_do_three_iterations_per_slot() -> None:
    result = heuristic("two-servers", "list-scheduling")
    assert result.report
    assert split_jobs(result) == {"j0", "j1", "j2"}
    assert [
        {job: ring.speed for job, ring in period.rings.items()} for period in result.report.periods
    ] == [{"j0": 5}, {"j1": 3, "j2": 3}, {"j3": 10}]
    both = rings_of(instance_of("two-servers"), j1={"s0": 2}, j2={"s1": 2})
    assert {ring.speed for ring in both.values()} == {10}


def test_fragmented_uneven_optimum_gives_the_small_server_to_the_pairs() -> None:
    assert area(instance_of("fragmented-uneven")) == OPTIMA["fragmented-uneven"]
    workers = workers_of(exact("fragmented-uneven"))
    assert workers["pair-0"] == workers["pair-1"] == {"s2": 2}
    assert not split_jobs(exact("fragmented-uneven"))


@pytest.mark.parametrize("method", HEURISTICS)
def test_fragmented_uneven_heuristics_put_a_pair_on_a_large_server_and_split_a_quad(
    method: str,
) -> None:
    result = heuristic("fragmented-uneven", method)
    workers = workers_of(result)
    assert {"s0", "s1"} & {*workers["pair-0"], *workers["pair-1"]}
    assert any(job.startswith("quad") for job in split_jobs(result))


def test_fragmented_leftovers_optimum_splits_the_pair_and_nothing_else() -> None:
    assert split_jobs(exact("fragmented-leftovers")) == {"pair"}


def test_fragmented_leftovers_split_pair_takes_exactly_the_optimum_and_a_split_triple_more() -> (
    None
):
    instance = instance_of("fragmented-leftovers")
    pair, triple = instance.jobs[:2]
    assert (pair.name, triple.name) == ("pair", "triple-0")
    assert lone_slots(instance, pair, {0: 1, 1: 1}) == 16
    assert lone_slots(instance, triple, {0: 2, 1: 1}) == 20
    assert lone_slots(instance, pair, {0: 2}) == lone_slots(instance, triple, {0: 3}) == 8
    assert makespan("fragmented-leftovers", "sjf-bco") == 24
    assert not split_jobs(heuristic("fragmented-leftovers", "sjf-bco"))


def test_spreading_mistake_packing_is_optimal_and_spreading_takes_three_times_as_long() -> None:
    found = {method: makespan("spreading-mistake", method) for method in HEURISTICS}
    optimum = OPTIMA["spreading-mistake"]
    assert found["sjf-bco"] == found["first-fit"] == optimum == 10
    assert found["list-scheduling"] == 34
    assert found["random"] == 64


def test_spreading_mistake_split_quad_takes_longer_than_the_optimum() -> None:
    instance = instance_of("spreading-mistake")
    quad = instance.jobs[0]
    assert quad.gpus == 4
    assert lone_slots(instance, quad, {0: 4}) == 6
    assert lone_slots(instance, quad, {0: 2, 1: 2}) == 15
    assert not any(job.startswith("quad") for job in split_jobs(exact("spreading-mistake")))
    assert any(
        job.startswith("quad") for job in split_jobs(heuristic("spreading-mistake", "random"))
    )


def test_rack_tree_is_a_tree_of_two_racks_with_slow_uplinks() -> None:
    network = instance_of("rack-tree").cluster.network
    assert isinstance(network, TreeNetwork)
    gbps = {link.node: link.gbps for link in network.links}
    assert gbps == {"a0": 25, "a1": 25, "b0": 25, "b1": 25, "rack-a": 10, "rack-b": 10}


def test_rack_tree_wide_job_is_half_as_fast_across_racks_and_slower_still_beside_another() -> None:
    instance = instance_of("rack-tree")
    within = rings_of(instance, wide_0={"a0": 2, "a1": 2})
    across = rings_of(instance, wide_0={"a0": 2, "b0": 2})
    beside = rings_of(instance, wide_0={"a0": 2, "b0": 2}, wide_1={"a1": 2, "b1": 2})
    assert within["wide-0"].speed == 10
    assert across["wide-0"].speed == 5
    assert [ring.speed for ring in beside.values()] == [3, 3]


def test_rack_tree_optimum_leaves_the_uplinks_alone_and_heuristics_do_not() -> None:
    def uplinks_used(result: Result) -> bool:
        assert result.report
        return any("rack-a" in period.links for period in result.report.periods)

    assert not uplinks_used(exact("rack-tree"))
    assert all(uplinks_used(heuristic("rack-tree", method)) for method in HEURISTICS)
    assert {makespan("rack-tree", method) for method in HEURISTICS} == {28}


def test_start_later_rings_across_racks_slow_each_other_down() -> None:
    instance = instance_of("start-later")
    across, late = {"a0": 2, "b0": 2}, {"a1": 1, "b1": 1}
    assert rings_of(instance, across=across)["across"].speed == 4
    assert rings_of(instance, late=late)["late"].speed == 5
    together = rings_of(instance, across=across, late=late)
    assert (together["across"].speed, together["late"].speed) == (1, 3)


def test_start_later_optimum_is_that_of_all_starts_and_placements() -> None:
    assert optimal_makespan(instance_of("start-later")) == OPTIMA["start-later"] == 9


def test_start_later_no_schedule_without_delay_is_optimal() -> None:
    instance = instance_of("start-later")
    assert shortest_without_delay(instance, OPTIMA["start-later"]) is None
    assert shortest_without_delay(instance, OPTIMA["start-later"] + 1) == 10


def shortest_without_delay(instance: Instance, limit: int) -> int | None:
    """Least makespan of the schedules without delay, over all placements; None if above a limit.

    Schedules without delay: at no slot is there a job yet to start whose servers all have as many
    idle GPUs as it will have workers there. More GPUs are idle only after a completion; so
    such a schedule starts jobs at slot 0 and at completions only, until none fits any more.
    """
    engine = Engine(instance)
    capacities = [server.gpus for server in instance.cluster.servers]
    options = [
        [
            (workers, slots)
            for workers in count_vectors(capacities, job.size)
            if (slots := lone_slots(instance, job, workers)) <= limit
        ]
        for job in instance.jobs
    ]
    best: int | None = None
    starts = np.full(len(instance.jobs), FAR, np.int64)

    def place(chosen: list[tuple[dict[int, int], int]]) -> None:
        if len(chosen) == len(options):
            run(0, [workers for workers, _ in chosen], [slots for _, slots in chosen])
        else:
            for option in options[len(chosen)]:
                place([*chosen, option])

    def run(slot: int, workers: Sequence[dict[int, int]], least: Sequence[int]) -> None:
        nonlocal best
        ends = engine.evaluate(starts, placements_of(workers)).completion
        started = [j for j in range(len(starts)) if starts[j] < FAR]
        waiting = [j for j in range(len(starts)) if starts[j] == FAR]
        if any(ends[j] > limit for j in started) or any(slot + least[j] > limit for j in waiting):
            return  # further jobs make none of these faster
        if not waiting:
            latest = int(max(ends))
            best = latest if best is None else min(best, latest)
            return
        idle = capacities.copy()
        for j in started:
            if ends[j] > slot:
                for server, count in workers[j].items():
                    idle[server] -= count
        fitting = [j for j in waiting if all(n <= idle[s] for s, n in workers[j].items())]
        for j in fitting:
            starts[j] = slot
            run(slot, workers, least)
            starts[j] = FAR
        if not fitting:
            run(min(int(ends[j]) for j in started if ends[j] > slot), workers, least)

    place([])
    return best


def test_paper_160_has_the_jobs_and_servers_of_the_paper() -> None:
    instance = instance_of("paper-160")
    mix = Counter(job.size for job in instance.jobs)
    assert mix == {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}
    assert all(1000 <= job.iterations <= 6000 for job in instance.jobs)
    assert len(instance.cluster.servers) == 20
    assert {server.gpus for server in instance.cluster.servers} <= {4, 8, 16, 32}
    assert instance.time.horizon == 1200
    contention = instance.contention
    assert contention.concurrency == contention.overhead_ms_per_server
    slot = instance.time.slot_seconds
    for extreme in job_extremes(instance):
        assert 0.01 <= extreme.best_seconds / slot <= 0.05
        assert 50 <= extreme.least_slots <= 300


@pytest.mark.parametrize(("method", "seed"), RUNS)
def test_paper_160_contention_links_and_overhead_take_at_most_15_percent_of_an_iteration(
    method: str, seed: int
) -> None:
    instance = instance_of("paper-160")
    free = {
        job.name: timing.iteration_seconds(
            timing.exchange_bits(job.gradient_mb, job.size),
            instance.cluster.intra_server_gbps,
            0.0,
            timing.reduction_seconds(job.gradient_mb, job.size, instance.cluster.reduction_gbps),
            0.0,
            timing.compute_seconds(job, job.size),
            1.0,
        )
        for job in instance.jobs
    }
    report = heuristic("paper-160", method, seed).report
    assert report
    parts = [
        1 - free[job] / ring.iteration_seconds
        for period in report.periods
        for job, ring in period.rings.items()
    ]
    assert 0.05 < max(parts) <= 0.15


def test_philly_2869ce_is_mostly_wide_jobs() -> None:
    instance = instance_of("philly-2869ce")
    assert Counter(job.size for job in instance.jobs) == {1: 8, 4: 3, 8: 15, 32: 14}
    assert [server.gpus for server in instance.cluster.servers] == [8] * 8


@pytest.mark.parametrize("credit", ["M. Jeon", "USENIX ATC 2019", "CC-BY-4.0", "Apache-2.0"])
def test_philly_2869ce_names_its_sources_and_their_licences(credit: str) -> None:
    assert credit in (instance_of("philly-2869ce").description or "")
    assert credit in (FOLDER / "NOTICE.md").read_text(encoding="utf-8")
