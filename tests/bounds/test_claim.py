"""Bounds that travel with schedules."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pytest

import rarmodel
from rarmodel.bounds import (
    LowerBound,
    ValueBound,
    best_bound,
    claims_in,
    greatest,
    known_claims,
    value_bounds,
    with_bound,
)
from rarmodel.files import read_schedule, to_json, write_text
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Schedule

INSTANCE = rarmodel.load_instance("start-later")
"""Its optimum of 9 slots is above the bounds that take no search."""


def known_bound(
    instance: Instance, schedules: list[Schedule], makespan: int | None = None
) -> ValueBound:
    """The best known bound on the makespan."""
    (claims,) = known_claims(
        instance.model_copy(update={"objective": "makespan"}),
        schedules,
        [] if makespan is None else [{"makespan": makespan}],
    )
    return greatest(claims, {})[1]


def known_aims(
    instance: Instance, schedules: list[Schedule], least: Value | None = None
) -> tuple[ValueBound, ...]:
    """The best known bound on each objective, for every schedule."""
    values = [] if least is None else [{instance.objectives[0]: least}]
    return tuple(greatest(claims, {})[1] for claims in known_claims(instance, schedules, values))


@pytest.fixture(scope="module")
def schedule() -> Schedule:
    found = rarmodel.solve(INSTANCE, method="sjf-bco").schedule
    assert found is not None
    return found


def test_a_solve_writes_the_bound_that_it_proved_into_its_schedule(schedule: Schedule) -> None:
    assert schedule.bound is not None
    assert (schedule.bound.slots, schedule.bound.name) == best_bound(INSTANCE)


def test_a_bound_is_read_again_from_a_file(schedule: Schedule, tmp_path: Path) -> None:
    file = tmp_path / "schedule.json"
    write_text(file, to_json(with_bound(schedule, INSTANCE, LowerBound(9, "cpsat"))))
    assert known_bound(INSTANCE, [read_schedule(file)]) == (9, "cpsat")


def test_the_name_of_an_instance_does_not_matter_but_its_numbers_do(schedule: Schedule) -> None:
    claimed = with_bound(schedule, INSTANCE, LowerBound(9, "cpsat"))
    renamed = INSTANCE.model_copy(update={"name": "other", "description": "the same"})
    assert known_bound(renamed, [claimed]).value == 9
    time = INSTANCE.time.model_copy(update={"origin": datetime(2026, 3, 2)})
    dated = INSTANCE.model_copy(update={"time": time})
    assert known_bound(dated, [claimed]).value == 9
    # The bound is on the makespan, whatever was minimised.
    other = INSTANCE.model_copy(update={"objective": ("total-flow", "makespan")})
    assert known_bound(other, [claimed]).value == 9
    assert known_bound(INSTANCE, [with_bound(schedule, other, LowerBound(9, "cpsat"))]).value == 9
    fewer = INSTANCE.model_copy(update={"jobs": INSTANCE.jobs[:-1]})
    assert known_bound(fewer, [claimed]) == tuple(best_bound(fewer))


def test_a_bound_above_a_verified_makespan_is_ignored(schedule: Schedule) -> None:
    false = with_bound(schedule, INSTANCE, LowerBound(10, "rumour"))
    assert known_bound(INSTANCE, [false], makespan=9) == tuple(best_bound(INSTANCE))


def test_a_schedule_without_a_bound_stays_as_it_is(schedule: Schedule) -> None:
    assert with_bound(schedule, INSTANCE, LowerBound(0, "none")) is schedule
    plain = schedule.model_copy(update={"bound": None})
    assert known_bound(INSTANCE, [plain]) == tuple(best_bound(INSTANCE))


def test_equal_instances_of_different_files_have_one_digest() -> None:
    again = Instance.model_validate_json(INSTANCE.model_dump_json())
    claimed = with_bound(
        Schedule(schema_version=1, instance="x", method="y", assignments=()),
        again,
        LowerBound(9, "cpsat"),
    )
    assert known_bound(INSTANCE, [claimed]).value == 9


def test_a_bound_on_the_objective_travels_too(tmp_path: Path) -> None:
    data = INSTANCE.model_dump(mode="json", exclude_unset=True) | {"objective": "total-flow"}
    asked = Instance.model_validate(data)
    result = rarmodel.solve(asked, formulation="time-indexed")
    assert result.schedule is not None
    assert result.status == "optimal"
    (goal,) = result.objective
    quick = value_bounds(asked)
    assert isinstance(goal.bound, int)
    assert isinstance(goal.value, int)
    assert goal.bound > quick[0].value
    file = tmp_path / "schedule.json"
    write_text(file, to_json(result.schedule))
    again = read_schedule(file)
    assert known_aims(asked, [again], goal.value) == (ValueBound(goal.bound, "proof"),)
    assert known_aims(asked, [again], least=quick[0].value) == quick
    assert known_aims(INSTANCE, [again]) == value_bounds(INSTANCE)


def test_a_bound_that_is_a_fraction_is_kept_exactly(schedule: Schedule) -> None:
    asked = INSTANCE.model_copy(update={"objective": "cost"})
    aim = ValueBound(Fraction(10**6, 3), "rumour")
    claimed = with_bound(schedule, asked, LowerBound(9, "cpsat"), [aim])
    again = Schedule.model_validate_json(to_json(claimed))
    assert known_aims(asked, [again])[0] == aim


def test_a_bound_on_a_later_objective_holds_for_what_is_no_worse_before(
    schedule: Schedule, tmp_path: Path
) -> None:
    names = ("total-flow", "makespan", "max-flow")
    asked = INSTANCE.model_copy(update={"objective": names})
    flow, end, wait = (quick.value for quick in value_bounds(asked))
    aims = [ValueBound(flow + 2, "proof"), ValueBound(end + 5, "cpsat"), ValueBound(wait, "cpsat")]
    claimed = with_bound(schedule, asked, LowerBound(int(end), "area"), aims, (flow + 3, 99, 99))
    file = tmp_path / "schedule.json"
    write_text(file, to_json(claimed))
    again = read_schedule(file)
    assert again == claimed
    assert [(one.objective, one.at_most) for one in claims_in(again)] == [
        ("makespan", ()),
        ("total-flow", ()),
        ("makespan", (("total-flow", flow + 3),)),
        ("max-flow", ()),
    ]

    def shown(values: dict[str, Value], false: dict[str, Value] | None = None) -> list[Value]:
        claims = known_claims(asked, [again], [] if false is None else [false])
        return [greatest(one, values).bound.value for one in claims]

    assert shown({"total-flow": flow + 3}) == [flow + 2, end + 5, wait]
    assert shown({"total-flow": flow + 4}) == [flow + 2, end, wait]
    # Only a schedule that the bound is for can refute it.
    worse, as_good = ({"total-flow": flow + i, "makespan": end + 4} for i in (4, 3))
    assert shown({"total-flow": flow + 3}, worse) == [flow + 2, end + 5, wait]
    assert shown({"total-flow": flow + 3}, as_good) == [flow + 2, end, wait]
    # A bound that holds for all schedules does so in whatever order the objectives are asked for.
    other = INSTANCE.model_copy(update={"objective": ("makespan", "total-flow")})
    makespan, total = known_claims(other, [again])
    assert greatest(makespan, {"makespan": 99}).bound.value == end
    assert greatest(total, {"makespan": 99}).bound.value == flow + 2


def test_a_later_bound_is_not_stored_without_the_values_that_it_is_for(schedule: Schedule) -> None:
    asked = INSTANCE.model_copy(update={"objective": ("total-flow", "max-flow")})
    quick = value_bounds(asked)
    aims = [quick[0], ValueBound(quick[1].value + 5, "cpsat")]
    claimed = with_bound(schedule, asked, LowerBound(9, "cpsat"), aims)
    assert known_aims(asked, [claimed]) == quick
