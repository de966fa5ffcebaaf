"""Turns of a thread: which are hot, how they cool, and that they are the same each time."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from random_instances import random_instance

from rarmodel import generate
from rarmodel.limits import Limits
from rarmodel.lists.instance_arrays import instance_arrays
from rarmodel.lists.order_moves import EVENLY
from rarmodel.packing import layout_of, one_after_another
from rarmodel.schema import Instance
from rarmodel.search import Session
from rarmodel.search import worker as worker_module
from rarmodel.search.starts import first_orders
from rarmodel.search.worker import HOT, Worker
from rarmodel.verifier import verify


def worker_of(instance: Instance) -> Worker:
    arrays, layout, stop = instance_arrays(instance), layout_of(instance), np.zeros(1, np.int64)
    starts = list(first_orders(layout, arrays.options))
    odds, generator = np.full(len(instance.jobs), EVENLY), np.zeros(1, np.uint64)
    return Worker(instance, arrays, layout, 0, starts, odds, generator, stop)


def wide(jobs: int, servers: int) -> Instance:
    """Nearly every ring must spread."""
    sizes = [(gpus, 1) for gpus in range(2, 17)]
    return generate("contention", jobs=jobs, servers=servers, capacities=[4], sizes=sizes)


@pytest.mark.parametrize(
    ("instance", "hot"),
    [
        (generate("contention", seed=3), True),
        (wide(jobs=40, servers=10), False),
        (generate("paper"), False),
        (generate("contention", jobs=3_000, servers=100), False),
    ],
    ids=["most jobs fit a server", "most must spread", "sizes divide one another", "many jobs"],
)
def test_turns_are_hot_where_that_pays(instance: Instance, hot: bool) -> None:
    assert worker_of(instance)._heats == hot


def test_a_hot_turn_begins_hot_and_gets_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ORDER_STEPS", "FEWEST_STEPS", "SERVER_STEPS"):
        monkeypatch.setattr(worker_module, name, 2)
    monkeypatch.setattr(worker_module, "HOT_MOVES", 1)
    worker = worker_of(generate("contention", seed=3))
    scale = float(worker._layout.packed.mean())
    temperatures = []
    for _ in range(8):
        worker.step(None, 1)
        if worker._servers is not None and worker._servers.length == 2:
            assert worker._servers.blocks is None
            temperatures.append(worker._servers.temperature / scale)
    assert len(temperatures) >= 2
    assert HOT.hot > temperatures[0] > temperatures[1]
    assert temperatures[1] == pytest.approx(HOT.cold)


def test_hot_turns_are_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ORDER_STEPS", "FEWEST_STEPS", "SERVER_STEPS"):
        monkeypatch.setattr(worker_module, name, 2)
    monkeypatch.setattr(worker_module, "HOT_MOVES", 1)
    instance = generate("contention", seed=3)
    sessions = [Session(instance, Limits(threads=2, seed=5)) for _ in range(2)]
    for session in sessions:
        session.run(iterations=10)
    one, other = (session.schedule("search") for session in sessions)
    assert one is not None
    assert one == other
    assert any(worker._heats and worker._turn > 1 for worker in sessions[0]._workers)
    report = verify(instance, one)
    assert (report.feasible, report.makespan) == (True, sessions[0].makespan)


def test_all_jobs_that_fit_a_server_are_dealt_anew_unless_some_must_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ORDER_STEPS", "FEWEST_STEPS", "SERVER_STEPS"):
        monkeypatch.setattr(worker_module, name, 1)
    monkeypatch.setattr(worker_module, "HOT_MOVES", 1)
    spread = []
    for bound in (1, 1_000):
        worker, best = worker_of(generate("contention", seed=6)), None
        turns = 0
        for _ in range(8):
            best = worker.step(best, bound) or best
            if worker._servers is not None:
                turns += bool(
                    ((worker._servers.skeleton.used > 1) & (worker._layout.packed > 0)).any()
                )
        spread.append(turns)
    assert spread[0] > 0 == spread[1]


def test_where_nothing_gets_better_a_thread_begins_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ORDER_STEPS", "MOST_ORDER_STEPS", "SERVER_STEPS", "MOST_SERVER_STEPS"):
        monkeypatch.setattr(worker_module, name, 2)
    instance = random_instance(Random(5), jobs=25, servers=4, tree=True, most_slots=20)
    best = one_after_another(instance)
    for better in (0, 1):
        worker = worker_of(instance)
        starts, begun = worker._starts, list[object]()
        monkeypatch.setattr(worker._orders, "begin", lambda order, _, to=begun: to.append(order))
        for step in range(60):
            # It is told of a shorter solution at each step, or of the same one.
            worker.step(best._replace(makespan=200 - better * step), 1)
        elsewhere = any(order is start for order in begun for start, _ in starts)
        assert elsewhere == (better == 0)
        assert worker._orders.temperature > 0.0
