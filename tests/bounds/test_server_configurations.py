"""The bound server by server: its two sides against trying everything, and that it is not false."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from random import Random

import numpy as np
import pytest
from depth import examples
from documents import instance_data, job_data
from enumeration import optimal_makespan
from hypothesis import given
from hypothesis import strategies as st
from random_instances import random_instance, tiny_instance

from rarmodel.bounds import best_bound
from rarmodel.bounds.cheapest_forms import Chosen, Cuts, Forms, choose
from rarmodel.bounds.column_program import ColumnProgram, Solution
from rarmodel.bounds.server_configurations import (
    ServerConfigurations,
    _Labels,
    _Server,
    server_configuration_bound,
)
from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.model import check_instance, job_extremes
from rarmodel.schema import Instance, Spread
from rarmodel.search import SEARCH
from rarmodel.verifier import verify


@examples(40)
@given(st.integers(1, 6), st.sets(st.integers(1, 4), max_size=2), st.integers(0, 10**9))
def test_dearest_content_is_that_of_trying_everything(
    gpus: int, sizes: set[int], seed: int
) -> None:
    labels = _Labels(sizes, 3)
    prices = np.random.default_rng(seed).integers(0, 20, len(labels.gpus))
    most = [1 if label in labels.lone else gpus // size for label, size in enumerate(labels.gpus)]
    best = 0
    for content in product(*(range(number + 1) for number in most)):
        lone = sum(content[label] for label in labels.lone)
        sharing = sum(content[labels.lone.stop :])
        if np.dot(content, labels.gpus) <= gpus and (lone == 0 or (lone == 1 and sharing == 0)):
            best = max(best, int(np.dot(content, prices)))
    value, found = _Server(gpus, labels).dearest(prices)
    assert value == best == sum(prices[label] * number for label, number in found.items())
    assert sum(labels.gpus[label] * number for label, number in found.items()) <= gpus


@examples(40)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 12))
def test_cheapest_cut_is_that_of_trying_everything(
    prices: list[int], servers: int, size: int
) -> None:
    cuts = Cuts(np.array(prices, np.int64), 5, 12)
    all_cuts = combinations_with_replacement(range(1, len(prices) + 1), servers)
    costs = [sum(prices[k - 1] for k in cut) for cut in all_cuts if sum(cut) == size]
    if not costs:
        assert cuts.costs[servers, size] > sum(prices) * 100
        return
    assert cuts.costs[servers, size] == min(costs)
    pieces = cuts.pieces(servers, size)
    assert (len(pieces), sum(pieces)) == (servers, size)
    assert sum(prices[k - 1] for k in pieces) == min(costs)


@examples(40)
@given(
    st.lists(
        st.tuples(*(st.integers(0, n) for n in (9, 9, 12, 12))), min_size=1, max_size=3
    ).filter(lambda forms: all(lone + sharing for lone, sharing, *_ in forms)),
    st.integers(1, 25),
    st.integers(1, 25),
    st.booleans(),
)
def test_cheapest_form_is_that_of_trying_everything(
    rows: list[tuple[int, int, int, int]], iterations: int, longest: int, parts: bool
) -> None:
    possible = [row for row in rows if max(row[:2]) * longest >= iterations]
    if not possible:
        return
    costs = [
        first * row[2] + second * row[3]
        for row in possible
        for first, second in product(range(longest + 1), repeat=2)
        if first + second <= longest and first * row[0] + second * row[1] >= iterations
    ]
    # In a form with both kinds, the lone one is faster.
    table = np.array(
        [(max(a, b), min(a, b), *((c, d) if a >= b else (d, c))) for a, b, c, d in possible],
        np.int64,
    ).T.copy()
    count = np.zeros(len(possible), np.int64)
    chosen = Chosen(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((2, 1), np.int64))
    with pytest.MonkeyPatch.context() as patch:
        how = choose
        if parts:
            patch.setattr("rarmodel.bounds.cheapest_forms.MOST_SLOTS", -1)
            how = choose.py_func  # type: ignore[attr-defined]
        how(
            Forms(count, count, count, table[:2]),
            table[2:],
            np.array([iterations]),
            longest,
            chosen,
        )
    if parts:
        assert chosen.price[0] <= min(costs)
    else:
        form, (lone, sharing) = chosen.form[0], chosen.slots[:, 0]
        assert chosen.price[0] == lone * table[2, form] + sharing * table[3, form]
        # Whoever is always of one kind may take longer: that is as if it began before slot 0.
        assert chosen.price[0] <= min(costs)
        assert lone * table[0, form] + sharing * table[1, form] >= iterations


MOST_RINGS = "rarmodel.bounds.ring_groups.MOST_RINGS"
WHOLE_OR_PIECES = pytest.mark.parametrize("whole", [True, False], ids=["whole", "pieces"])
"""How the bound looks at rings that share links: by pieces if they are many."""


def check_against_enumeration(seed: int, whole: bool) -> bool:
    """Whether the bound says something, which is not false."""
    random = Random(seed)
    instance = tiny_instance(random)
    optimum = optimal_makespan(instance)
    if optimum is None:
        return False
    for upper in (None, optimum + 1, optimum):
        with pytest.MonkeyPatch.context() as patch:
            if not whole:
                patch.setattr(MOST_RINGS, -1)
            found = server_configuration_bound(instance, 0, upper)
        assert found is not None
        assert found <= optimum, seed
    return True


@WHOLE_OR_PIECES
@examples(20)
@given(seed=st.integers(0, 10**9))
def test_bound_is_never_above_the_optimum(seed: int, whole: bool) -> None:
    check_against_enumeration(seed, whole)


@pytest.mark.slow
@WHOLE_OR_PIECES
@pytest.mark.parametrize("block", range(40))
def test_bound_is_never_above_thousands_of_optima(block: int, whole: bool) -> None:
    seeds = range(100 * block, 100 * block + 100)
    assert sum(check_against_enumeration(seed, whole) for seed in seeds) > 50


def check_against_search(seed: int) -> bool:
    """Whether the bound says something: as much as by pieces, and no more than a schedule does.

    All rings spread, also those that fit a server, so that many can be on one.
    """
    random = Random(seed)
    drawn = random_instance(
        random,
        jobs=random.randint(2, 5),
        servers=random.randint(2, 4),
        tree=False,
        most_slots=20,
        sizes=(2, 3, 4),
    )
    apart = Spread(min_servers=2)
    jobs = tuple(job.model_copy(update={"spread": apart}) for job in drawn.jobs)
    instance = drawn.model_copy(update={"jobs": jobs})
    try:
        check_instance(instance)
    except InputError:
        return False  # Some ring is too slow if it spreads.
    found = server_configuration_bound(instance, 0)
    schedule = SEARCH(instance, Limits(iterations=3, threads=1)).schedule
    assert schedule is not None
    makespan = verify(instance, schedule).makespan
    assert found is not None
    assert makespan is not None
    assert ServerConfigurations(instance, whole=False).prove(0) <= found <= makespan, seed
    return True


@examples(15)
@given(seed=st.integers(0, 10**9))
def test_bound_is_never_above_a_schedule_of_rings_that_all_spread(seed: int) -> None:
    check_against_search(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_bound_is_never_above_thousands_of_such_schedules(block: int) -> None:
    assert sum(map(check_against_search, range(100 * block, 100 * block + 100))) > 50


def lone_rings(jobs: int) -> Instance:
    """Rings of 3 on 20 servers of 2: who shares hardly moves, so each strands a GPU."""
    rings = [job_data(f"j{i}", 3, 10_000, gradient_mb=20.0) for i in range(jobs)]
    data = instance_data(*rings, servers=[2] * 20, horizon=1_000_000)
    data["contention"]["degradation"]["alpha"] = 100.0
    data["time"]["slot_seconds"] = 100.0
    return parse_instance(data)


def test_it_sees_the_gpus_that_a_lone_ring_strands() -> None:
    instance = lone_rings(60)
    alone = job_extremes(instance)[0].least_slots
    found = server_configuration_bound(instance, 0)
    assert found == 6 * alone  # Ten at once.
    assert best_bound(instance).slots < found


@WHOLE_OR_PIECES
def test_a_server_may_hold_more_of_sharing_rings_than_the_largest_ring_has(
    whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not whole:
        monkeypatch.setattr(MOST_RINGS, -1)
    rings = [job_data(f"j{i}", 2, 40, spread={"min_servers": 2}) for i in range(4)]
    instance = parse_instance(instance_data(*rings, servers=[4, 4]))
    assert server_configuration_bound(instance, 0) == 4  # All at once, as none exchanges anything.


def test_it_proves_nothing_beyond_what_is_possible_or_asked() -> None:
    instance = lone_rings(4)
    found = server_configuration_bound(instance, 0)
    assert found is not None
    assert server_configuration_bound(instance, found) is None
    assert server_configuration_bound(instance, 0, upper=found - 1) == found - 1
    assert server_configuration_bound(instance, 0, stop=lambda: True) is None


@WHOLE_OR_PIECES
def test_it_trusts_no_solver(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    if not whole:
        monkeypatch.setattr(MOST_RINGS, -1)
    instance = lone_rings(6)
    found = server_configuration_bound(instance, 0)
    assert found is not None
    random = np.random.default_rng(1)

    def nonsense(program: ColumnProgram) -> Solution:
        prices, columns = (random.uniform(0, 2, n) for n in (program._rows, program._columns))
        return Solution(1e9, prices, random.uniform(0, 1, 1), columns)

    monkeypatch.setattr("rarmodel.bounds.server_configurations.MOST_ROUNDS", 50)
    monkeypatch.setattr(ColumnProgram, "solve", nonsense)
    other = server_configuration_bound(instance, 0)
    assert other is not None
    assert other <= found
    monkeypatch.setattr(ColumnProgram, "solve", lambda _: None)
    assert server_configuration_bound(instance, 0) is None


def test_many_small_jobs_on_many_servers_are_no_trouble() -> None:
    jobs = [job_data(f"j{i}", 1) for i in range(300)]
    instance = parse_instance(instance_data(*jobs, servers=[8] * 3_000))
    assert server_configuration_bound(instance, 0) == 1


@pytest.mark.parametrize("gpus", [257, 600])
def test_large_servers_and_rings_are_left_to_other_bounds(gpus: int) -> None:
    instance = parse_instance(instance_data(job_data("a", gpus), servers=[300, 300]))
    assert server_configuration_bound(instance, 0) is None
