"""Turns of a thread: which are hot, how they cool, and that they are the same each time."""

from __future__ import annotations

import numpy as np
import pytest

from rarmodel import generate
from rarmodel.engine import arrays_of
from rarmodel.limits import Limits
from rarmodel.methods import installed
from rarmodel.packing import layout_of as packing_layout_of
from rarmodel.schema import Instance
from rarmodel.search import Session, order_turns, packing_turns
from rarmodel.search.layout import layout_of
from rarmodel.search.order_annealing import EVENLY
from rarmodel.search.packing_turns import ServerTurns
from rarmodel.search.starts import first_orders
from rarmodel.search.thread import OnThreads, Thread
from rarmodel.search.worker import Worker
from rarmodel.verifier import verify

HOT = packing_turns.SERVER_NUMBERS.hot


def thread_of(instance: Instance) -> Thread:
    layout, stop = layout_of(instance), np.zeros(1, np.int64)
    starts = list(first_orders(layout))
    odds = np.full(len(instance.jobs), EVENLY)
    own = np.zeros(1, np.uint64), stop, installed(OnThreads, instance)
    packing = packing_layout_of(instance)
    return Thread(arrays_of(instance), layout, packing, 0, starts, odds, *own)


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
    scale = float(worker._thread.packing.packed.mean())
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
                turns += bool(((used > 1) & (worker._thread.packing.packed > 0)).any())
        spread.append(turns)
    assert spread[0] > 0 == spread[1]
