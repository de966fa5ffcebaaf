"""`time-indexed` with services beside jobs that share GPUs, and with replicas of slices.

It is compared with all schedules by GPU: each start, each GPU, each set of replicas in each slot.
Every third case has all features that the formulation takes.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyomo.environ as pyo
import pytest
from depth import first
from model_alone import best_alone, values_of
from models import broken_constraints
from replicas_by_gpu import Beside, best_of_all, random_both
from scopes import scope_of
from sharing_enumeration import few_schedules
from wide_instances import FEATURES, OBJECTIVES, some_features

from rarmodel.exact import schedule_of
from rarmodel.formulations.aims import aim_of
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.model.services import why_unanswerable
from rarmodel.schema import Instance
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.highs import HIGHS
from rarmodel.verifier import verify

MOST_SETS = 60
"""Most sets of replicas in a slot."""
NAMES = [name for name in FEATURES if name in TIME_INDEXED.handles]


def drawn(seed: int) -> Instance:
    """The next small instance from a seed on."""
    random = Random(seed)
    while True:
        some = some_features(random, seed, NAMES)
        objectives = random.sample(OBJECTIVES, 1 if seed % 2 else 2)
        if seed % 5 == 0:
            objectives = ["cost", *(one for one in objectives if one != "cost")]
        found = random_both(
            random, some, shared=seed % 4 != 3, jobs=2, most_slots=2, objectives=objectives
        )
        if not Beside(found).many(MOST_SETS) and few_schedules(found):
            return found


@pytest.mark.parametrize("seed", first(16, range(400)))
def test_the_model_has_the_optimum_of_every_schedule_and_every_replica(seed: int) -> None:
    instance = drawn(seed)
    best = best_of_all(instance)
    if why_unanswerable(instance):
        assert best is None
        return
    schedule = best_alone(TIME_INDEXED, CPSAT if seed % 4 else HIGHS, instance)
    assert (best and best[0]) == (schedule and values_of(instance, schedule))
    if schedule is not None:
        assert verify(instance, schedule, slot_by_slot=True).feasible


@pytest.mark.parametrize("seed", first(8, range(60)))
def test_the_best_schedule_is_a_solution(seed: int) -> None:
    instance = drawn(seed)
    best = best_of_all(instance)
    if best is None:
        pytest.skip("there is no schedule")
    values, schedule = best
    report = verify(instance, schedule)
    assert report.makespan is not None
    scope = replace(scope_of(instance, report.makespan + 1))
    model = TIME_INDEXED.build(scope)
    TIME_INDEXED.load(model, scope, schedule)
    assert broken_constraints(model) == []
    assert aim_of(scope, 0).at_least(pyo.value(model.objective)) == values[0]
    plan = TIME_INDEXED.plan(model, scope)
    assert plan is not None
    again = schedule_of(instance, plan, "model")
    assert values_of(instance, again) == values
