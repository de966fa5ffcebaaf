"""Method `search`: optimal where that is known, repeatable, and honest about where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from documents import instance_data, job_data
from enumeration import optimal_makespan
from random_instances import random_instance

from rarmodel import list_instances, load_instance, solve
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance, read_schedule, to_json
from rarmodel.schema import Instance
from rarmodel.verifier import verify


def test_tiny_instances_are_solved_and_proven() -> None:
    for seed in range(25):
        random = Random(seed)
        instance = random_instance(
            random, jobs=random.randint(1, 4), servers=random.randint(1, 3), tree=seed % 2 == 1
        )
        result = solve(instance, method="search", iterations=24, threads=1)
        assert result.status == "optimal", seed
        assert result.makespan == result.lower_bound == optimal_makespan(instance), seed


@pytest.mark.parametrize(
    "name",
    [
        row["name"]
        for row in list_instances("examples")
        if row["optimum"] is not None and row["jobs"] < 30
    ],
)
def test_bundled_optima_are_found(name: str) -> None:
    optimum = next(row["optimum"] for row in list_instances("examples") if row["name"] == name)
    assert solve(name, method="search", iterations=30, threads=2).makespan == optimum


@pytest.mark.parametrize("threads", [1, 3])
def test_same_seed_threads_and_iterations_give_the_same_schedule(threads: int) -> None:
    instance = random_instance(Random(8), jobs=24, servers=4, tree=False, most_slots=30)
    first, again = (
        solve(instance, method="search", iterations=4, threads=threads, seed=4).schedule
        for _ in range(2)
    )
    assert first is not None
    assert first == again


def test_a_seed_matters() -> None:
    instance = random_instance(Random(8), jobs=24, servers=4, tree=False, most_slots=30)
    schedules = [
        solve(instance, method="search", iterations=3, threads=1, seed=seed).schedule
        for seed in range(5)
    ]
    assert any(schedule != schedules[0] for schedule in schedules)


PREPARED = """
import importlib, pkgutil, rarmodel.packing, rarmodel.search, rarmodel.bounds.knapsack
from numba.core.dispatcher import Dispatcher
from rarmodel import load_instance
from rarmodel.limits import Limits
from rarmodel.search import SEARCH

def compiled():
    return {
        f"{module.__name__}.{name}": len(value.signatures)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }

modules = [
    importlib.import_module(f"{room.__name__}.{module.name}")
    for room in (rarmodel.packing, rarmodel.search)
    for module in pkgutil.iter_modules(room.__path__)
]
modules.append(rarmodel.bounds.knapsack)
instance = load_instance("philly-2869ce")
widest_first = tuple(sorted(instance.jobs, key=lambda job: -job.size))
instance = instance.model_copy(update={"jobs": widest_first})
SEARCH.prepare(instance)
prepared = compiled()
assert prepared["rarmodel.packing.server_annealing.anneal_servers"] == 1
attempt = SEARCH(instance, Limits(iterations=80, threads=1))
assert attempt.stopped == "iteration limit"
later = {name for name, count in compiled().items() if count > prepared[name]}
assert not later, later
"""


def test_nothing_is_left_to_compile_once_the_clock_runs() -> None:
    # In a process of its own, where no other test has compiled anything.
    done = subprocess.run(
        [sys.executable, "-c", PREPARED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_it_stops_at_the_time_limit_and_says_so() -> None:
    result = solve("philly-2869ce", method="search", time_limit=0.5)
    assert result.stopped == "time limit"
    assert result.status == "feasible"


def test_it_stops_when_its_patience_is_over() -> None:
    result = solve("philly-2869ce", method="search", threads=1, patience=2)
    assert result.stopped == "no improvement in 2 iterations"
    assert result.status == "feasible"


def test_with_nothing_asked_it_stops_at_the_default_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rarmodel.search.search.DEFAULT_SECONDS", 0.5)
    assert solve("philly-2869ce", method="search").stopped == "time limit"


def test_it_stops_at_the_gap() -> None:
    result = solve("philly-2869ce", method="search", gap=0.5)
    assert result.stopped == "the makespan is within the gap of the lower bound"
    assert result.gap is not None
    assert 0 < result.gap <= 0.5


def test_it_reports_incumbent_and_bound_as_they_change() -> None:
    seen: list[tuple[float | None, float | None]] = []
    solve(
        "philly-2869ce",
        method="search",
        iterations=5,
        progress=lambda makespan, bound: seen.append((makespan, bound)),
    )
    makespans = [makespan for makespan, _ in seen if makespan is not None]
    bounds = [bound for _, bound in seen if bound is not None]
    assert makespans == sorted(makespans, reverse=True)
    assert bounds == sorted(bounds)
    assert len(seen) >= 5


def within(instance: Instance, horizon: int) -> Instance:
    time = instance.time.model_copy(update={"horizon": horizon})
    return instance.model_copy(update={"time": time})


def test_no_schedule_within_the_horizon_is_not_infeasible() -> None:
    short = within(load_instance("philly-2869ce"), 185)
    result = solve(short, method="search", iterations=2, threads=1)
    assert (result.status, result.schedule) == ("unknown", None)
    assert result.lower_bound is not None
    assert result.lower_bound <= 185
    assert result.stopped == "no schedule found within the horizon (iteration limit)"


def test_a_tiny_instance_is_proven_infeasible() -> None:
    result = solve(within(load_instance("start-later"), 8), method="search")
    assert (result.status, result.schedule) == ("infeasible", None)
    assert (result.lower_bound, result.bound_name) == (9, "enumeration")
    assert result.stopped == "the lower bound exceeds the horizon"
    assert result.reasons == (
        "of all schedules none ends before slot 9 (enumeration); the horizon is 8",
    )


def test_jobs_that_together_take_more_slots_than_can_be_counted_are_no_schedule() -> None:
    # Two to a GPU, and of 3100 only 2480 fit; their sum is past 2**63.
    slots = (2**53 - 1) // 3 + 1
    jobs = [job_data(f"j{i}", 1, slots, backward_ms=1000.0) for i in range(3100)]
    data = instance_data(*jobs, servers=[1240], horizon=2**53 - 1)
    result = solve(parse_instance(data), method="search", iterations=1, threads=1)
    assert (result.status, result.schedule) == ("unknown", None)
    assert result.stopped == "no schedule found within the horizon (iteration limit)"


def test_iterations_go_with_methods_that_count_them() -> None:
    with pytest.raises(UsageError, match="'sjf-bco' does not count iterations"):
        solve("two-servers", method="sjf-bco", iterations=5)
    with pytest.raises(UsageError, match="'sjf-bco' does not count iterations"):
        solve("two-servers", method="sjf-bco", patience=5)
    with pytest.raises(UsageError, match="iterations and patience need a method"):
        solve("two-servers", formulation="time-indexed", patience=5)
    with pytest.raises(UsageError, match=r"iterations 0: .* whole .*; patience True: .* whole"):
        solve("two-servers", method="search", iterations=0, patience=True)


SAYS_WHAT_IT_HAS = """
import sys
from threading import Thread
from time import sleep
from rarmodel.cli import main
from rarmodel.search import Session

run = Session.run

def say_when_there_is_one(session):
    while session.solution is None:
        sleep(0.01)
    print("a schedule", file=sys.stderr, flush=True)

def said(session, *arguments, **named):
    if len(session.instance.jobs) == 40:  # It has compiled, on a smaller instance.
        Thread(target=say_when_there_is_one, args=(session,), daemon=True).start()
    return run(session, *arguments, **named)

Session.run = said
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to another process")
def test_ctrl_c_writes_the_best_schedule_whole(tmp_path: Path) -> None:
    target = tmp_path / "schedule.json"
    command = ["solve", "philly-2869ce", "--method", "search", "--time-limit", "600"]
    process = subprocess.Popen(
        [sys.executable, "-c", SAYS_WHAT_IT_HAS, *command, "--output", target, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert any(line == "a schedule\n" for line in process.stderr)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    result = json.loads(out)
    assert result["stopped"] == "interrupted"
    report = verify(load_instance("philly-2869ce"), read_schedule(target))
    assert report.feasible
    assert report.makespan == result["makespan"]


def test_the_written_schedule_is_the_returned_one(tmp_path: Path) -> None:
    result = solve("rack-tree", method="search", iterations=5)
    assert result.schedule is not None
    path = tmp_path / "schedule.json"
    path.write_text(to_json(result.schedule), encoding="utf-8")
    assert read_schedule(path) == result.schedule
