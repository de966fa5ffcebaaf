"""What a GPU is worth at best: by hand, and never less than any set of jobs on it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random

import pytest
from depth import first
from documents import instance_data, job_data
from sharing_instances import random_sharing

from rarmodel.bounds.companions import PARTS, _at_best, _rates, best_companions
from rarmodel.files import parse_instance
from rarmodel.model.gpu_sharing import losses, shares_gpus
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance


def on_one_gpu(*jobs: dict[str, object], slices: int = 4) -> Instance:
    """Jobs of one GPU that take four slots alone, on a cluster of one GPU."""
    data = instance_data(
        *(job_data(f"j{i}", 1, 40, slices=1, **job) for i, job in enumerate(jobs)),
        horizon=99,
    )
    server = data["cluster"]["servers"][0]
    data["cluster"]["servers"] = [server | {"gpus": 1}]
    data["cluster"]["gpu_slices"] = slices
    return parse_instance(data)


@pytest.mark.parametrize(
    ("jobs", "slots"),
    [
        (({}, {}), 8),  # They take turns: alone, one after another.
        (({"sensitivity": 0}, {"sensitivity": 0}), 4),
        (({"sensitivity": 0.25}, {"sensitivity": 0.25}), 5),  # 8 iterations of 10 each.
        (({"sensitivity": 0.25},) * 4, 8),  # Four do 5 iterations each.
    ],
)
def test_work_over_what_the_gpu_does_at_best(
    jobs: tuple[dict[str, object], ...], slots: int
) -> None:
    assert best_companions(on_one_gpu(*jobs), MAKESPAN) == slots


def test_where_nobody_shares_it_says_nothing() -> None:
    instance = parse_instance(instance_data(job_data("a"), horizon=99))
    assert best_companions(instance, MAKESPAN) is None


@pytest.mark.parametrize("seed", first(20, range(300)))
def test_no_set_of_jobs_is_worth_more(seed: int) -> None:
    instance = random_sharing(Random(seed), jobs=5)
    assert shares_gpus(instance)
    lost, rate = losses(instance), _rates(instance)
    for server in instance.cluster.servers:
        slices = instance.cluster.slices_of(server)
        taken = {j: one.slices or slices for j, one in enumerate(instance.jobs)}
        for many in range(1, 6):
            for some in combinations(taken, many):
                if sum(taken[j] for j in some) > slices:
                    continue
                worth = sum(
                    rate(j, sum(lost.of(j, i) for i in some if i != j)) / rate(j, 0) for j in some
                )
                assert Fraction(_at_best(instance, slices), PARTS) >= worth
