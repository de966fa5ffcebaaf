"""`time-indexed` where jobs share GPUs: against enumeration by GPU, and the schedules it must have.

Cases alternate between no other feature, a few, and all that the formulation takes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random

import pyomo.environ as pyo
import pytest
from depth import first
from documents import instance_data, job_data
from model_alone import best_alone, values_of
from models import broken_constraints
from scopes import scope_of
from sharing_enumeration import every_shared_report, few_schedules, shared_optimum
from sharing_instances import random_sharing
from wide_instances import FEATURES, OBJECTIVES, some_features

from rarmodel.exact import schedule_of
from rarmodel.files import parse_instance
from rarmodel.formulations.aims import aim_of
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.formulations.time_indexed_numbers import gpu_loads
from rarmodel.model import horizon_of
from rarmodel.schema import Instance
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.highs import HIGHS

NAMES = [name for name in FEATURES if name in TIME_INDEXED.handles]


def drawn(seed: int) -> Instance:
    """The next small instance from a seed on."""
    random = Random(seed)
    while True:
        some = some_features(random, seed, NAMES)
        objectives = random.sample(OBJECTIVES, 1 if seed % 2 else 2)
        jobs = 3 if seed % 6 in {1, 3} else 2
        found = random_sharing(random, some, jobs=jobs, most_slots=2, objectives=objectives)
        if few_schedules(found):
            return found


@pytest.mark.parametrize("seed", first(16, range(400)))
def test_the_model_has_the_optimum_of_every_schedule_by_gpu(seed: int) -> None:
    instance = drawn(seed)
    schedule = best_alone(TIME_INDEXED, CPSAT if seed % 4 else HIGHS, instance)
    assert shared_optimum(instance) == (schedule and values_of(instance, schedule))


@pytest.mark.parametrize("every_schedule", [False, True])
@pytest.mark.parametrize("seed", first(6, range(60)))
def test_every_feasible_schedule_is_a_solution(seed: int, every_schedule: bool) -> None:
    instance = drawn(seed)
    for schedule, report in islice(every_shared_report(instance, horizon_of(instance)), 3):
        assert report.makespan is not None
        scope = replace(scope_of(instance, report.makespan + 1), every_schedule=every_schedule)
        model = TIME_INDEXED.build(scope)
        TIME_INDEXED.load(model, scope, schedule)
        assert broken_constraints(model) == []
        values = values_of(instance, schedule)
        assert aim_of(scope, 0).at_least(pyo.value(model.objective)) == values[0]
        plan = TIME_INDEXED.plan(model, scope)
        assert plan is not None
        assert values_of(instance, schedule_of(instance, plan, "model")) == values


def three_beside_each_other(pressures: tuple[float, ...], slices: int) -> Instance:
    jobs = [job_data(f"j{i}", slices=1, pressure=p) for i, p in enumerate(pressures)]
    data = instance_data(*jobs, horizon=99)
    data["cluster"]["gpu_slices"] = slices
    return parse_instance(data)


@pytest.mark.parametrize(
    ("slices", "loads"), [(1, [0]), (2, [0, 1, 2, 4]), (3, [0, 1, 2, 3, 4, 5, 6])]
)
def test_loads_are_sums_over_those_that_fit(slices: int, loads: list[int]) -> None:
    instance = three_beside_each_other((0.0, 1.0, 2.0, 4.0), slices)
    unit = 2**20
    assert gpu_loads(scope_of(instance, 9))["j0"] == tuple(unit * load for load in loads)


def test_too_many_loads_are_refused_in_a_line() -> None:
    instance = three_beside_each_other(tuple(float(2**i) for i in range(10)), 8)
    assert str(TIME_INDEXED.unfit(scope_of(instance, 9))) == (
        "others may slow job 'j0' down on its GPUs in more than 256 ways, too many for the model; "
        "fewer different sensitivities, pressures and measured pairs make it smaller"
    )
