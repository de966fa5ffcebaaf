"""Formulations as tuples of components: what is checked, and how users change them."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from enumeration import optimal_makespan
from random_instances import random_instance

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.formulations import Component, Formulation, Scope
from rarmodel.formulations.busy_time import BUSY_TIME
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.starts_and_ends import STARTS_AND_ENDS
from rarmodel.formulations.time_indexed import COMPONENTS, TIME_INDEXED
from rarmodel.formulations.time_indexed_components import WORK
from rarmodel.formulations.time_indexed_numbers import numbers_of
from rarmodel.schema import Instance


def instance_of(seed: int = 49) -> Instance:
    """Heuristics miss the optimum of this one, and its horizon is short."""
    instance = random_instance(Random(seed), jobs=4, servers=2, tree=False, most_slots=4)
    time = instance.time.model_copy(update={"horizon": 20})
    return instance.model_copy(update={"time": time})


def composed(*components: Component) -> Formulation:
    return Formulation.composed("mine", *components, plan=TIME_INDEXED.plan, size=TIME_INDEXED.size)


def nothing(m: Any, scope: Scope) -> None:
    """It adds nothing."""


def test_a_component_without_what_it_needs_is_an_error() -> None:
    with pytest.raises(UsageError) as error:
        composed(STARTS_AND_ENDS, WORK)
    assert str(error.value) == (
        "formulation 'mine', component 'work' needs placed, reaches, which no component before it "
        "gives"
    )


def test_a_component_that_only_one_kind_of_sharing_rules_has_is_missed_by_the_other() -> None:
    rings = next(one for one in COMPONENTS if one.name == "rings_on_links")
    user = Component("user", nothing, needs=("at_least",))
    given = Component("given", nothing, gives=("active_in",))
    with pytest.raises(UsageError, match="'user' needs at_least, which no component before it"):
        composed(given, rings, user)


def test_two_components_give_nothing_twice_and_have_two_names() -> None:
    with pytest.raises(UsageError, match="'work': another component has this name"):
        composed(Component("work", nothing), Component("work", nothing))
    with pytest.raises(UsageError, match="'b' gives x, as 'a' does"):
        composed(Component("a", nothing, gives=("x",)), Component("b", nothing, gives=("x",)))


def weaker_work(m: Any, scope: Scope) -> None:
    """All iterations are done, by the sum of the levels that each slot reaches."""
    numbers, slots = numbers_of(scope), range(scope.horizon)

    def done(m: Any, j: str) -> Any:
        steps = zip(numbers.levels[j], [0, *numbers.levels[j]], strict=False)
        progress = sum(
            (high - low) * m.reaches[j, i, t] for i, (high, low) in enumerate(steps) for t in slots
        )
        spread = sum(m.placed[j, k] for k in numbers.rings[j])
        return progress >= scope.jobs[j].iterations_left * spread

    m.my_work = pyo.Constraint(list(numbers.rings), rule=done)


def two_at_a_time(m: Any, scope: Scope) -> None:
    """At most two jobs run in a slot."""
    m.two_at_a_time = pyo.Constraint(
        range(scope.horizon), rule=lambda m, t: sum(m.running[j, t] for j in scope.jobs) <= 2
    )


MY_WORK = Component("work", weaker_work, needs=("placed", "reaches"))
TWO = Component("two", two_at_a_time, needs=("running",))


def test_a_component_takes_the_place_of_that_of_its_name() -> None:
    instance = instance_of()
    mine = TIME_INDEXED.with_components("restated", MY_WORK, restricts=False)
    assert mine.composition is not None
    names = [one.name for one in mine.composition.components]
    assert names == [one.name for one in COMPONENTS]
    assert not mine.restricts
    result = rarmodel.solve(instance, formulation=mine, model_only=True, time_limit=60)
    assert (result.status, result.makespan) == ("optimal", optimal_makespan(instance))


def test_a_component_is_left_out() -> None:
    instance = instance_of()
    mine = TIME_INDEXED.with_components("plain", without=["symmetry"], restricts=False)
    assert mine.composition is not None
    assert "symmetry" not in [one.name for one in mine.composition.components]
    result = rarmodel.solve(instance, formulation=mine, model_only=True, time_limit=60)
    assert result.makespan == optimal_makespan(instance)


@pytest.mark.parametrize("base", [TIME_INDEXED, COMPACT], ids=lambda base: base.name)
def test_an_added_component_restricts_as_an_extension_does(base: Formulation) -> None:
    instance = instance_of()
    both = [base.with_components("two", TWO), base.extended("two", TWO)]
    found = [rarmodel.solve(instance, formulation=one, time_limit=60) for one in both]
    plain = rarmodel.solve(instance, formulation=base)
    for result in found:
        assert (result.status, result.restricted) == ("optimal", True)
        assert result.makespan == found[0].makespan
        assert (result.makespan or 0) >= (plain.makespan or 0)


def test_unknown_components_are_named() -> None:
    with pytest.raises(UsageError, match="has no component 'symetry'; choose from starts_and_ends"):
        TIME_INDEXED.with_components("x", without=["symetry"])
    with pytest.raises(UsageError, match="needs placed, active_in, extra, extra_in, which no"):
        TIME_INDEXED.with_components("x", without=["starts_and_ends", "placement"])


def test_what_is_extended_has_no_components_to_choose() -> None:
    extended = TIME_INDEXED.extended("x", two_at_a_time)
    with pytest.raises(UsageError, match="'x' is not made of components"):
        extended.with_components("y", TWO)


def test_a_formulation_with_other_components_can_be_pickled() -> None:
    mine = BUSY_TIME.with_components("mine", without=["order_of_gpus"], restricts=False)
    there = pickle.loads(pickle.dumps(mine))  # noqa: S301 - it is our own
    assert there.composition == mine.composition
    assert there.base is BUSY_TIME
