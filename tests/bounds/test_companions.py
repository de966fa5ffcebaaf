"""What GPUs are worth at best: by hand, and never less than any set of jobs on a GPU."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from depth import examples, first
from documents import instance_data, job_data
from hypothesis import given
from hypothesis import strategies as st
from sharing_instances import random_sharing

from rarmodel.bounds import companions
from rarmodel.bounds.companion_rates import PARTS, companion_rates
from rarmodel.bounds.companion_times import falling, over_time
from rarmodel.bounds.companions import best_companions, companion_machines
from rarmodel.bounds.least_demands import filled
from rarmodel.files import parse_instance
from rarmodel.model import lone_options
from rarmodel.model.gpu_sharing import losses, memory_units
from rarmodel.model.objectives import MAKESPAN, objective
from rarmodel.schema import Instance


def on_one_gpu(*jobs: dict[str, Any], slices: int = 4) -> Instance:
    """Jobs of one GPU that take four slots alone, on a cluster of one GPU."""
    each = ({"slices": 1} | job for job in jobs)
    data = instance_data(
        *(job_data(f"j{i}", 1, **({"iterations": 40} | job)) for i, job in enumerate(each)),
        horizon=99,
    )
    server = data["cluster"]["servers"][0]
    data["cluster"]["servers"] = [server | {"gpus": 1}]
    data["cluster"]["gpu_slices"] = slices
    data["cluster"]["gpu_memory_gb"] = 40
    return parse_instance(data)


FREE: dict[str, Any] = {"sensitivity": 0}
QUARTER: dict[str, Any] = {"sensitivity": 0.25}
LONG: dict[str, Any] = {"iterations": 400, "slices": 3}


@pytest.mark.parametrize(
    ("jobs", "slots"),
    [
        (({}, {}), 8),  # They take turns: alone, one after another.
        ((FREE, FREE), 4),
        ((QUARTER, QUARTER), 5),  # 8 iterations of 10 each.
        ((QUARTER,) * 4, 8),  # Four do 5 iterations each.
        # The two that do not suffer do not fit: beside the long one there is room for one slice.
        ((FREE | LONG, FREE | {"slices": 2}, FREE | {"slices": 2}), 44),
        # Beside each other the memory is too little.
        ((FREE | {"memory_gb": 30}, FREE | {"memory_gb": 11}), 8),
        # A job that lasts has the others beside it, who are worth nothing; one price for all
        # iterations would count four at once, and prove 14 slots.
        ((FREE | LONG, FREE, FREE, FREE, FREE), 40),
        # Those who suffer beside each other are beside those who do not.
        (({"kind": "a"}, {"kind": "a"}, {"kind": "b"}, {"kind": "b"}), 8),
    ],
)
def test_work_over_what_the_gpu_does_at_best(jobs: tuple[dict[str, Any], ...], slots: int) -> None:
    instance = on_one_gpu(*jobs)
    if "kind" in jobs[0]:
        pairs = [("a", "a", 5.0), ("b", "b", 5.0), ("a", "b", 1.0), ("b", "a", 1.0)]
        data = instance.model_dump(mode="json", exclude_unset=True)
        data["cluster"]["gpu_slices"] = 2
        data["colocation"] = [
            {"kind": kind, "beside": beside, "slowdown": slowdown}
            for kind, beside, slowdown in pairs
        ]
        instance = parse_instance(data)
    assert best_companions(instance, MAKESPAN) == slots


def test_jobs_that_come_late_have_prices_of_their_own() -> None:
    late: dict[str, Any] = {"release": 50}
    early: dict[str, Any] = {"iterations": 400, "sensitivity": 0, "pressure": 0}
    instance = on_one_gpu(late, late, early, slices=2)
    # Both late jobs take turns, if not beside the early one: 8 slots from slot 50 on.
    assert best_companions(instance, MAKESPAN) == 58


def test_sums_of_completions_know_that_jobs_take_turns() -> None:
    instance = on_one_gpu({}, {}, {}, {})
    aim = objective("total-completion")
    assert best_companions(instance, aim) == 4 + 8 + 12 + 16


def test_the_greatest_term_knows_it_too() -> None:
    instance = on_one_gpu(*({"due": 4},) * 4)
    assert best_companions(instance, objective("max-tardiness")) == 12
    assert best_companions(instance, objective("late-jobs")) == 3


def test_prices_over_time_know_which_jobs_are_late_together() -> None:
    each = [{"due": due, "weight": weight} for due, weight in ((4, 3), (8, 1), (8, 1), (12, 2))]
    instance = on_one_gpu(*each).model_copy(update={"objective": "total-tardiness"})
    # They take turns, one of weight 1 last: it is due at 8, and completes at 16.
    (machine,) = companion_machines(instance)
    aim = objective("total-tardiness")
    assert over_time(instance, aim, machine) == best_companions(instance, aim) == 8


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_prices_that_never_rise_are_close_to_those_that_do(prices: list[float]) -> None:
    found = falling(np.array(prices))
    assert all(one >= other for one, other in pairwise(found))
    assert len(found) == len(prices)
    if all(one >= other for one, other in pairwise(prices)):
        assert found.tolist() == prices
    # Levels are means: none is above all prices, or below.
    assert min(prices) * (1 - 1e-9) <= found.min() <= found.max() <= max(prices) * (1 + 1e-9)


def test_where_nobody_shares_it_says_nothing() -> None:
    instance = parse_instance(instance_data(job_data("a"), horizon=99))
    assert best_companions(instance, MAKESPAN) is None


def test_without_prices_by_job_all_work_has_one_price(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: tuple[dict[str, Any], ...] = (FREE | LONG, FREE, FREE, FREE, FREE)
    known = best_companions(on_one_gpu(*jobs), MAKESPAN)
    monkeypatch.setattr(companions, "MOST_ROWS", 1)
    # 56 slots of work by two at once: a long one takes 3 of 4 slices.
    assert (best_companions(on_one_gpu(*jobs), MAKESPAN), known) == (14, 40)


def rate(instance: Instance, job: int, server: int, load: int) -> Fraction:
    """Iterations that a worker of a job on a server stands for, beside a load."""
    gpus = instance.cluster.servers[server].gpus
    return max(
        (
            Fraction(one.pace.beside(load).speed(one.servers, one.gbps), one.pace.size)
            for one in lone_options(instance)[job]
            if server in one.allowed and (one.servers > 1 or one.pace.size <= gpus)
        ),
        default=Fraction(0),
    )


@examples(60)
@given(seed=st.integers(0, 10**6), work=st.sampled_from([10**9, 10**9, 0, 7]))
def test_no_set_of_jobs_is_worth_more(seed: int, work: int) -> None:
    """Whatever the prices are, and however much of the search is left out."""
    random = Random(seed)
    features = random.sample(["GPU types", "network terms", "running jobs"], random.choice([0, 1]))
    instance = random_sharing(random, features, jobs=random.randint(2, 6), servers=3)
    lost, rates = losses(instance), companion_rates(instance)
    memory = memory_units(instance)
    prices = np.array([random.choice([0, 1, PARTS // 3, PARTS]) for _ in rates.alone], np.int64)
    threshold = random.choice([0, 0, PARTS**2 // 2])
    dearest = {}
    for number, kind in enumerate(rates.kinds):
        dearest[number], _ = companions._dearest(kind, prices, threshold, (work, work))
        assert dearest[number] >= threshold
    for s, server in enumerate(instance.cluster.servers):
        slices, most = instance.cluster.slices_of(server), memory.of_server[s]
        usable = [j for j in range(len(instance.jobs)) if rate(instance, j, s, 0)]
        best = Fraction(0)
        for many in range(1, len(usable) + 1):
            for some in combinations(usable, many):
                taken = sum(instance.jobs[j].slices or slices for j in some)
                needed = sum(memory.of_job[j] for j in some)
                if taken > slices or (most is not None and needed > most):
                    continue
                loads = {j: sum(lost.of(j, i) for i in some if i != j) for j in some}
                worths = (
                    PARTS
                    * int(prices[rates.item[j]])
                    * rate(instance, j, s, loads[j])
                    / rates.alone[rates.item[j]]
                    for j in some
                )
                best = max(best, sum(worths, Fraction(0)))
        assert max(dearest.values()) >= best
        if len(rates.kinds) == 1 and work == 10**9 and best > threshold:
            # Loads are rounded by less than this.
            assert dearest[0] <= best * Fraction(102, 100)


@pytest.mark.parametrize("seed", first(10, range(200)))
def test_more_kinds_of_gpus_than_it_knows_only_lower_the_bound(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_sharing(Random(seed), jobs=5, servers=4).model_dump(exclude_unset=True)
    known = filled(companion_machines(parse_instance(data))[0])
    monkeypatch.setattr("rarmodel.bounds.companion_rates.MOST_GPU_KINDS", 1)
    assert filled(companion_machines(parse_instance(data))[0]) <= known
