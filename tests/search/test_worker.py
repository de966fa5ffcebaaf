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
from rarmodel.methods import installed
from rarmodel.packing import layout_of, one_after_another
from rarmodel.schema import Instance
from rarmodel.search import Session, order_turns, packing_turns
from rarmodel.search.packing_turns import ServerTurns
from rarmodel.search.starts import first_orders
from rarmodel.search.thread import OnThreads, Thread
from rarmodel.search.worker import Worker
from rarmodel.verifier import verify

HOT = packing_turns.SERVER_NUMBERS.hot


def thread_of(instance: Instance) -> Thread:
    arrays, layout, stop = instance_arrays(instance), layout_of(instance), np.zeros(1, np.int64)
    starts = list(first_orders(layout, arrays.options))
    odds = np.full(len(instance.jobs), EVENLY)
    own = np.zeros(1, np.uint64), stop, installed(OnThreads, instance)
    return Thread(instance, arrays, layout, 0, starts, odds, *own)


def worker_of(instance: Instance) -> Worker:
    return Worker(thread_of(instance), installed(OnThreads, instance))


def short_turns(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Turns of so many steps, over servers hot ones."""
    orders = order_turns.NUMBERS._replace(steps=steps)
    servers = packing_turns.SERVER_NUMBERS._replace(steps=steps, hot_moves=1)
    monkeypatch.setattr(order_turns, "NUMBERS", orders)
    monkeypatch.setattr(order_turns, "MOMENT", steps)
    monkeypatch.setattr(packing_turns, "SERVER_NUMBERS", servers)


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
    assert (thread_of(instance).leader == "servers") == hot


def test_a_hot_turn_begins_hot_and_gets_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    short_turns(monkeypatch, 2)
    worker = worker_of(generate("contention", seed=3))
    scale = float(worker._thread.layout.packed.mean())
    temperatures = []
    for _ in range(8):
        worker.step(None, 1)
        if isinstance(worker._now, ServerTurns):
            turn = worker._now._turn
            assert turn is not None
            assert turn.length == 2
            temperatures.append(turn.temperature / scale)
    assert len(temperatures) >= 2
    assert HOT.hot > temperatures[0] > temperatures[1]
    assert temperatures[1] == pytest.approx(HOT.cold)


def test_hot_turns_are_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    short_turns(monkeypatch, 2)
    instance = generate("contention", seed=3)
    sessions = [Session(instance, Limits(threads=2, seed=5)) for _ in range(2)]
    for session in sessions:
        session.run(iterations=10)
    one, other = (session.schedule("search") for session in sessions)
    assert one is not None
    assert one == other
    threads = [worker._thread for worker in sessions[0]._workers]
    assert any(one.leader == "servers" and one.turn > 1 for one in threads)
    report = verify(instance, one)
    assert (report.feasible, report.makespan) == (True, sessions[0].makespan)


def test_all_jobs_that_fit_a_server_are_dealt_anew_unless_some_must_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short_turns(monkeypatch, 1)
    spread = []
    for bound in (1, 1_000):
        worker, best = worker_of(generate("contention", seed=6)), None
        turns = 0
        for _ in range(8):
            best = worker.step(best, bound) or best
            if isinstance(worker._now, ServerTurns) and worker._now._turn is not None:
                used = worker._now._turn.skeleton.used
                turns += bool(((used > 1) & (worker._thread.layout.packed > 0)).any())
        spread.append(turns)
    assert spread[0] > 0 == spread[1]


def test_where_nothing_gets_better_a_thread_begins_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module, name in ((order_turns, "NUMBERS"), (packing_turns, "SERVER_NUMBERS")):
        short = getattr(module, name)._replace(steps=2, most_steps=2)
        monkeypatch.setattr(module, name, short)
    instance = random_instance(Random(5), jobs=25, servers=4, tree=True, most_slots=20)
    best = one_after_another(instance)
    for better in (0, 1):
        worker = worker_of(instance)
        thread = worker._thread
        begun: list[object] = []
        monkeypatch.setattr(thread.orders, "begin", lambda order, _, to=begun: to.append(order))
        for step in range(60):
            # It is told of a shorter solution at each step, or of the same one.
            worker.step(best._replace(makespan=200 - better * step), 1)
        elsewhere = any(order is start for order in begun for start, _ in thread.starts)
        assert elsewhere == (better == 0)
        assert thread.orders.temperature > 0.0
