"""Neighbourhoods of users join the search by turns; nothing that they return is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from documents import instance_data, job_data

import rarmodel
from rarmodel import generate, load_instance, registry, solve
from rarmodel.bounds import LowerBound
from rarmodel.errors import PartError, UsageError
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.lists import LIST_SCHEDULES, order_annealing
from rarmodel.lists import order_search as wide_module
from rarmodel.lists.order_annealing import OrderAnnealing, anneal
from rarmodel.methods import NOTHING_TO_TRY, Neighbourhood, Result, Turn
from rarmodel.methods import neighbourhood as module
from rarmodel.model.features import RELEASES
from rarmodel.model.objectives import objective
from rarmodel.packing import DIVES, TEMPERING, Packer, one_after_another, packable, packer
from rarmodel.packing.solution import Packed
from rarmodel.schema import Instance, Schedule
from rarmodel.search import BUDDY_BLOCKS, ORDERS, SERVERS, Session, order_turns, packing_turns
from rarmodel.verifier import verify

PLAIN = load_instance("philly-2869ce")  # No bound that is proven soon is met.
WIDE = parse_instance(
    instance_data(
        *(
            job_data(f"j{i}", gpus=1 + i % 3, iterations=10 + 7 * i % 40, release=i % 3)
            for i in range(14)
        ),
        horizon=500,
    )
    | {"objective": "total-flow"}
)
parts = registry._loaded
FEW = {"iterations": 3, "threads": 1}
ALL = frozenset({RELEASES.name})


def solved(instance: Instance, *some: Neighbourhood, **limits: object) -> Result:
    return solve(instance, neighbourhoods=some, **(FEW | limits))  # type: ignore[arg-type]


def named(improve: Callable[[Instance, Schedule, Turn], object]) -> Neighbourhood:
    return Neighbourhood("mine", "", improve, handles=ALL)  # type: ignore[arg-type]


def test_a_neighbourhood_may_solve_smaller_problems() -> None:
    depth: list[int] = []

    def by_parts(instance: Instance, incumbent: Schedule, _: Turn) -> Schedule:
        depth.append(len(depth))
        fewer = instance.model_copy(update={"jobs": instance.jobs[:3]})
        assert solve(fewer, iterations=2, threads=1).schedule is not None
        return incumbent

    assert solved(WIDE, named(by_parts)).schedule is not None
    assert depth == [0, 1, 2]


@cache
def best() -> Schedule:
    found = solve(PLAIN, iterations=30, threads=1).schedule
    assert found is not None
    return found


def test_a_better_schedule_is_taken_by_the_search_for_plain_instances() -> None:
    without = solved(PLAIN, iterations=1)
    with_it = solved(PLAIN, named(lambda *_: best()), iterations=1)
    assert without.makespan is not None
    assert with_it.makespan is not None
    assert with_it.makespan <= (verify(PLAIN, best()).makespan or 0) < without.makespan
    assert "mine had 1 turn" in with_it.stopped
    assert with_it.schedule is not None
    assert with_it.schedule.method == "search"


def test_a_better_schedule_is_taken_by_the_search_for_wider_instances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = solve(WIDE, iterations=40, threads=1)
    monkeypatch.setattr(wide_module, "NUMBERS", wide_module.NUMBERS._replace(work=0))
    plain = solved(WIDE, iterations=1)
    found = solved(WIDE, named(lambda *_: good.schedule), iterations=1)
    assert good.objective[0].value is not None
    assert plain.objective[0].value is not None
    assert found.objective[0].value == good.objective[0].value < plain.objective[0].value
    assert found.schedule is not None
    assert found.schedule.method == "search"


@pytest.mark.parametrize("instance", [PLAIN, WIDE], ids=["plain", "wide"])
def test_each_turn_gets_the_best_schedule_and_random_numbers_of_its_own(
    instance: Instance,
) -> None:
    turns: list[tuple[float, int, float | None]] = []

    def look(problem: Instance, incumbent: Schedule, turn: Turn) -> None:
        report = verify(problem, incumbent)
        assert report.feasible
        assert report.makespan is not None
        turns.append((turn.random.random(), turn.threads, turn.seconds))

    for seed in (5, 5, 6):
        solved(instance, named(look), seed=seed)
    assert turns[:3] == turns[3:6] != turns[6:]
    assert len(turns) == 9
    assert len({random for random, _, _ in turns}) == 6
    assert {(threads, seconds) for _, threads, seconds in turns} == {(1, None)}


@pytest.mark.parametrize("instance", [PLAIN, WIDE], ids=["plain", "wide"])
def test_what_breaks_a_constraint_does_not_count(instance: Instance) -> None:
    def at_once(_: Instance, incumbent: Schedule, __: Turn) -> Schedule:
        moved = [a.model_copy(update={"start": 0}) for a in incumbent.assignments]
        return incumbent.model_copy(update={"assignments": tuple(moved)})

    found, without = solved(instance, named(at_once)), solved(instance)
    assert found.schedule == without.schedule
    assert "mine had 3 turns, of which 3 broke a constraint" in found.stopped


@pytest.mark.parametrize("instance", [PLAIN, WIDE], ids=["plain", "wide"])
def test_an_exception_is_one_line_that_names_the_neighbourhood(instance: Instance) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    with pytest.raises(
        PartError,
        match=r"^neighbourhood 'mine' failed at \S*test_neighbourhoods\.py:\d+: "
        r"ZeroDivisionError: by nothing$",
    ):
        solved(instance, named(broken))
    with pytest.raises(UsageError, match=r"^neighbourhood 'mine' returned 3, and no Schedule$"):
        solved(instance, named(lambda *_: 3))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (lambda first, others: others, "that leaves out '[^']+'"),
        (
            lambda first, others: (first, first, *others),
            "that has more than one assignment of '[^']+'",
        ),
        (
            lambda first, others: (first.model_copy(update={"job": "x"}), first, *others),
            "that has jobs that the instance lacks: 'x'",
        ),
        (
            lambda first, others: (first.model_copy(update={"start": 0.5}), *others),
            r"with faults: assignments\[0\]\.start: 0\.5; a whole number is expected",
        ),
        (
            lambda first, others: (first.model_copy(update={"gpus": {"s0": (0.5, 1)}}), *others),
            r"with faults: assignments\[0\]\.gpus\.s0\[0\]: 0\.5; a whole number is expected",
        ),
        (lambda first, others: (None, *others), "with faults: .*"),
        (lambda first, others: None, "with faults: .*"),
    ],
)
def test_a_schedule_that_is_none_is_refused(changed: Any, fault: str) -> None:
    def wrong(_: Instance, incumbent: Schedule, __: Turn) -> Schedule:
        first, *others = incumbent.assignments
        return incumbent.model_copy(update={"assignments": changed(first, tuple(others))})

    with pytest.raises(PartError, match=rf"^neighbourhood 'mine' returned a schedule {fault}$"):
        solved(PLAIN, named(wrong))


def test_several_take_turns_and_those_that_support_nothing_of_it_do_not() -> None:
    seen = []
    some = [
        Neighbourhood("a", "", lambda *_: seen.append("a"), handles=ALL),
        Neighbourhood("b", "", lambda *_: seen.append("b"), handles=ALL),
        Neighbourhood("plain only", "", lambda *_: seen.append("plain")),
        Neighbourhood("cost", "", lambda *_: seen.append("cost"), frozenset({"cost"}), handles=ALL),
    ]
    solved(WIDE, *some, iterations=4)
    assert seen == ["a", "b", "a", "b"]


def test_turns_take_no_more_than_their_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes on by a second each time that it is read."""
    clock = iter(range(1000))
    monkeypatch.setattr(module, "perf_counter", lambda: next(clock))
    asked: list[float | None] = []

    def slow(_: Instance, __: Schedule, turn: Turn) -> None:
        asked.append(turn.seconds)
        for _second in range(8):
            next(clock)

    with registry.added("neighbourhoods", [named(slow)]):
        turns = module.Turns(PLAIN, Limits())
    for _turn in range(100):
        turns.take(best, deadline=500)
    assert asked
    assert set(asked) <= {module.TURN_SECONDS, *(module.SHARE * n for n in range(5))}
    assert 9 * len(asked) <= module.SHARE * next(clock) + 9
    assert next(clock) < 700
    before = len(asked)
    while next(clock) < 500:
        pass
    turns.take(best, deadline=500)
    assert len(asked) == before


def test_without_a_schedule_there_is_no_turn() -> None:
    with registry.added("neighbourhoods", [named(lambda *_: pytest.fail("asked"))]):
        assert module.Turns(PLAIN, Limits()).take(lambda: None, float("inf")) is None


def test_exact_solves_let_them_take_turns() -> None:
    seen = []
    with registry.added("neighbourhoods", [named(lambda *_: seen.append("asked"))]):
        assert solve(PLAIN, formulation="time-indexed", time_limit=3).schedule is not None
    assert seen


def test_added_parts_are_there_for_a_while() -> None:
    mine = named(lambda *_: None)
    before = registry.parts("neighbourhoods")
    assert {BUDDY_BLOCKS, DIVES, LIST_SCHEDULES, ORDERS, SERVERS, TEMPERING} <= set(before)
    with registry.added("neighbourhoods", [mine, ORDERS]):
        assert registry.parts("neighbourhoods") == [*before, mine]
    assert registry.parts("neighbourhoods") == before
    with (
        pytest.raises(UsageError, match="is not a neighbourhood: it lacks name"),
        registry.added("neighbourhoods", ["json:dumps"]),
    ):
        pass


@contextmanager
def without(monkeypatch: pytest.MonkeyPatch, *some: Neighbourhood) -> Iterator[None]:
    """Nothing in the registry but the other neighbourhoods."""
    left = tuple(one for one in parts("neighbourhoods") if one not in some)
    with monkeypatch.context() as patch:
        patch.setattr(
            registry, "_loaded", lambda kind: left if kind == "neighbourhoods" else parts(kind)
        )
        yield


def entered(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the moves that are made from now on: at the doors of the compiled loops."""
    made: set[str] = set()
    doors = {
        "orders": (OrderAnnealing, "step"),
        "servers": (packing_turns, "anneal_servers"),
        "buddy-blocks": (packing_turns, "anneal_blocks"),
        "dives": (packer, "Dive"),
        "tempering": (packer, "temper"),
    }
    for name, (where, door) in doors.items():
        known = getattr(where, door)

        def opened(*given: Any, name: str = name, known: Any = known, **more: Any) -> Any:
            made.add(name)
            return known(*given, **more)

        monkeypatch.setattr(where, door, opened)
    return made


BY_TURNS = [ORDERS, SERVERS, BUDDY_BLOCKS]


@pytest.mark.parametrize("gone", [(), *[(one,) for one in BY_TURNS], (ORDERS, SERVERS)])
def test_the_registry_decides_which_neighbourhoods_take_turns_on_threads(
    gone: tuple[Neighbourhood, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all of them, each takes its turn; without one, it alone does not."""
    short = order_turns.NUMBERS._replace(steps=2, most_steps=2)
    blocks = packing_turns.BLOCK_NUMBERS._replace(steps=1, most_steps=1, moves=1)
    monkeypatch.setattr(order_turns, "NUMBERS", short)
    monkeypatch.setattr(packing_turns, "BLOCK_NUMBERS", blocks)
    made = entered(monkeypatch)
    with without(monkeypatch, *gone):
        session = Session(PLAIN, Limits(threads=1))
        assert session.run(iterations=12) == "iteration limit"
    assert made == {one.name for one in BY_TURNS if one not in gone}
    schedule = session.schedule("search")
    assert schedule is not None
    assert verify(PLAIN, schedule).feasible


@pytest.mark.parametrize(
    ("instance", "one"),
    [
        (generate("paper", seed=7, jobs=60, servers=8), DIVES),
        (generate("contention", seed=4), TEMPERING),
    ],
    ids=["dives", "tempering"],
)
def test_the_registry_decides_what_packs_anew(
    instance: Instance, one: Neighbourhood, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = entered(monkeypatch)
    best: Any = SimpleNamespace(
        solution=one_after_another(instance),
        makespan=one_after_another(instance).makespan,
        bound=LowerBound(1, "for the test"),
        take=lambda _: setattr(best, "makespan", 1),
    )
    with without(monkeypatch, one):
        assert not packable(instance)
        assert not Session(instance).closable
        Packer(instance, 0).run(best)
    assert made == set()
    assert packable(instance)

    def tempered(*_: object, **__: object) -> Packed:
        made.add("tempering")
        return EMPTY

    monkeypatch.setattr(packer, "temper", tempered)
    monkeypatch.setattr(Packer, "solution", lambda *_: None)
    Packer(instance, 0).run(best)
    assert made == {one.name}


EMPTY = Packed(np.zeros(0, np.int64), [])


@pytest.mark.parametrize("gone", [(), (LIST_SCHEDULES,)])
def test_the_registry_decides_whether_list_schedules_are_annealed(
    gone: tuple[Neighbourhood, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    moves: list[int] = []
    known = anneal

    def counted(*given: Any) -> int:
        moves.append(given[5])
        return known(*given)

    monkeypatch.setattr(order_annealing, "anneal", counted)
    with without(monkeypatch, *gone):
        found = solve(WIDE, threads=2, iterations=40, objective=["total-flow"])  # Without ties.
    assert found.schedule is not None
    assert verify(WIDE, found.schedule).feasible
    if gone:
        # Each of two threads makes the schedule of each start, after one for compilation.
        assert moves == [1] * (1 + 2 * len(wide_module.STARTS))
        assert found.stopped == NOTHING_TO_TRY
    else:
        assert set(moves) == {max(20, wide_module.NUMBERS.work // len(WIDE.jobs))}


@pytest.mark.parametrize(
    ("instance", "limits"),
    [
        *[(PLAIN, limits) for limits in ({"iterations": 50}, {"time_limit": 60.0})],
        *[(WIDE, limits) for limits in ({"iterations": 50}, {"patience": 9})],
    ],
)
def test_without_any_neighbourhood_search_has_its_starts(
    instance: Instance, limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with without(monkeypatch, *parts("neighbourhoods")):
        assert registry.parts("neighbourhoods") == []
        found = solve(instance, threads=1, **limits)
        alike = solve(instance, threads=1, **limits)
    assert found.stopped == NOTHING_TO_TRY
    assert found.status == "feasible"
    assert found.schedule is not None
    assert found.schedule == alike.schedule
    better = solve(instance, threads=1, iterations=20)
    assert better.objective[0].value is not None
    assert found.objective[0].value is not None
    assert found.objective[0].value >= better.objective[0].value


def test_a_neighbourhood_of_a_user_needs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with without(monkeypatch, *parts("neighbourhoods")):
        found = solved(PLAIN, named(lambda *_: best()))
    assert found.makespan == verify(PLAIN, best()).makespan
    assert "mine had 3 turns" in found.stopped


def test_the_list_is_of_all_that_run_those_of_users_too() -> None:
    mine = named(lambda *_: None)
    with registry.added("neighbourhoods", [mine]):
        rows = {row["name"]: row["runs"] for row in rarmodel.parts("neighbourhoods")}
    assert rows == {
        "buddy-blocks": "in each thread",
        "dives": "where the gap is small",
        "list-schedules": "in each thread",
        "mine": "between iterations",
        "orders": "in each thread",
        "servers": "in each thread",
        "tempering": "where the gap is small",
    }


def test_one_that_does_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^neighbourhood 'mine' needs improve, a function$"):
        Neighbourhood("mine")


def test_built_in_neighbourhoods_say_what_they_support() -> None:
    short, flow = [objective("makespan")], [objective("total-flow")]
    for one in (ORDERS, SERVERS, BUDDY_BLOCKS):
        assert one.supports(PLAIN, short)
        assert not one.supports(PLAIN, [*short, *flow])
        assert not one.supports(WIDE, short)
    assert LIST_SCHEDULES.supports(PLAIN, flow)
    assert LIST_SCHEDULES.supports(WIDE, flow)
    none_fits = parse_instance(instance_data(job_data("wide", gpus=4)))
    assert ORDERS.supports(none_fits, short)
    assert not BUDDY_BLOCKS.supports(none_fits, short)
    assert module.Turns(PLAIN, Limits()).told() == ""
