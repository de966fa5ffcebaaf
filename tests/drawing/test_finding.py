"""The sentences that pages and pictures begin with."""

from __future__ import annotations

from typing import Any

import pytest
from documents import assignment_data, instance_of, job_data, schedule_of
from hypothesis import given
from hypothesis import strategies as st

import rarmodel
from rarmodel.bounds import ValueBound
from rarmodel.drawing import draw_all, shown_bounds
from rarmodel.drawing.finding import finding_of
from rarmodel.drawing.objective_values import aims_of
from rarmodel.drawing.standing import standing
from rarmodel.drawing.summaries import MethodRow, Spread
from rarmodel.drawing.words import percent


def finding(bound: int | None, **ends: int) -> tuple[str, str]:
    """Of schedules of two jobs of a slot each, by name; each ends at a slot given."""
    instance = instance_of(job_data("a"), job_data("b"), servers=(2,), horizon=1000)
    schedules = [
        schedule_of(
            assignment_data("a", 0, s0=[0]), assignment_data("b", end - 1, s0=[1])
        ).model_copy(update={"method": name})
        for name, end in ends.items()
    ]
    drawings = draw_all(instance, schedules)
    shown = shown_bounds(drawings) if bound is None else [ValueBound(bound, "area")]
    lead, detail = finding_of(drawings, aims_of(drawings, shown))
    return lead, detail


def test_one_schedule_is_optimal_or_at_most_so_far_from_it() -> None:
    assert finding(None, search=1) == (
        "search is optimal.",
        (
            "It takes 1 slot (1 s). a ends last: it runs from the start for 1 slot, as long as"
            " alone. No schedule is shorter (bound: longest job)."
        ),
    )
    assert finding(300, search=327) == (
        "search is at most 8.3% from optimal.",
        (
            "It takes 327 slots (5 min 27 s). b ends last: it runs from slot 326 for 1 slot, as"
            " long as alone. No schedule is shorter than 300 slots (bound: area)."
        ),
    )


def test_job_that_ends_last_tells_what_it_takes_alone() -> None:
    jobs = [job_data(name, gpus=2, iterations=40, gradient_mb=100.0) for name in "ab"]
    instance = instance_of(*jobs, servers=(2, 2), horizon=100)
    schedule = schedule_of(
        assignment_data("a", 0, s0=[0], s1=[0]), assignment_data("b", 0, s0=[1], s1=[1])
    )
    drawings = draw_all(instance, [schedule])
    lead, detail = finding_of(drawings, aims_of(drawings))
    makespan = drawings[0].report.makespan
    assert makespan is not None
    assert makespan > 5
    assert f"a ends last: it runs from the start for {makespan} slots, alone it takes 5." in detail
    assert lead.startswith("by hand is at most ")


def test_two_schedules_are_compared() -> None:
    assert finding(272, search=273, sjf=378) == (
        "search is 28% shorter than sjf, and at most 0.37% from optimal.",
        (
            "search takes 273 slots (4 min 33 s), sjf 378 slots (6 min 18 s)."
            " No schedule is shorter than 272 slots (bound: area)."
        ),
    )
    assert finding(273, search=273, sjf=357)[0] == "search is 24% shorter than sjf, and optimal."
    assert finding(20, sjf=20, search=20) == (
        "sjf and search are equally short, and optimal.",
        "Each takes 20 slots (20 s). No schedule is shorter (bound: area).",
    )


def test_equally_short_schedules_are_told_apart_by_what_decides_ties() -> None:
    instance = instance_of(job_data("a"), job_data("b"), servers=(2,), horizon=1000)
    begins = {"late": (4, 9), "early": (0, 9), "also-late": (5, 9)}
    schedules = [
        schedule_of(assignment_data("a", a, s0=[0]), assignment_data("b", b, s0=[1])).model_copy(
            update={"method": name}
        )
        for name, (a, b) in begins.items()
    ]
    drawings = draw_all(instance, schedules)
    far = "at most 90% from optimal"
    assert finding_of(drawings, aims_of(drawings)).lead == (
        f"late, early and also-late are equally short, and {far}; early has the least "
        "total-completion, 11 against 15 weighted slots."
    )
    asked = instance.model_copy(update={"objective": ("makespan",)})
    drawings = draw_all(asked, schedules[:2])
    lead = finding_of(drawings, aims_of(drawings)).lead
    assert lead == f"late and early are equally short, and {far}."


def test_several_schedules_are_compared_with_the_next_and_the_longest() -> None:
    assert finding(90, slow=200, search=90, mean=100) == (
        "search is the shortest of 3 schedules, and optimal.",
        (
            "It takes 90 slots (1 min 30 s): 10% shorter than mean, the next, and 55% shorter than"
            " slow, the longest. No schedule is shorter (bound: area)."
        ),
    )
    assert finding(80, slow=100, search=90, best=90) == (
        "search and best are the shortest of 3 schedules, and at most 12% from optimal.",
        (
            "They take 90 slots (1 min 30 s): 10% shorter than slow, the next."
            " No schedule is shorter than 80 slots (bound: area)."
        ),
    )
    same = {f"m{i}": 50 for i in range(5)}
    assert finding(50, **same)[0] == "all 5 schedules are equally short, and optimal."
    assert finding(50, **same, long=60)[0] == "5 of 6 schedules are the shortest, and optimal."


def broken() -> rarmodel.Schedule:
    return schedule_of(assignment_data("a", 0, s0=[0])).model_copy(update={"method": "broken"})


def test_schedules_that_break_constraints_are_not_compared() -> None:
    whole = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 5, s1=[0]))
    drawings = draw_all(instance_of(), [broken(), whole])
    aims = aims_of(drawings, [ValueBound(6, "area")])
    lead, detail = finding_of(drawings, aims)
    assert lead == "by hand is optimal."
    assert detail.endswith("Not compared, because constraints are broken: broken.")
    (drawing,) = draw_all(instance_of(), [broken()])
    lead, detail = finding_of([drawing], aims_of([drawing]))
    assert lead == f"broken is not valid: {len(drawing.report.violations)} violations."
    assert detail == f"The first: {drawing.report.violations[0].message}."
    drawings = draw_all(instance_of(), [broken()] * 2)
    lead, _ = finding_of(drawings, aims_of(drawings))
    assert lead == "None of the 2 schedules is valid."


@given(st.floats(1e-6, 1.0))
def test_percent_that_is_a_limit_is_rounded_up_and_has_two_digits(part: float) -> None:
    text = percent(part, up=True)
    assert text.endswith("%")
    value = float(text[:-1])
    assert 100 * part - 1e-9 <= value <= 100 * part * 1.1 + 1e-9
    assert len(text[:-1].replace(".", "").lstrip("0")) <= 2 or value == 100


@pytest.mark.parametrize(
    ("part", "text"),
    [(0.0, "0%"), (0.004, "0.4%"), (0.0037, "0.37%"), (0.284, "28%"), (0.1, "10%"), (1.5, "150%")],
)
def test_percent_has_digits_that_say_something(part: float, text: str) -> None:
    assert percent(part) == text


def method(name: str, best: int, ratio: float | None, **fields: Any) -> MethodRow:
    """A method of 4 runs."""
    none = Spread(None, None, None)
    values: dict[str, Any] = {
        "runs": 4,
        "solved": 4,
        "failed": 0,
        "optimal": 0,
        "borrowed": 0,
        "value": 10.0,
        "makespan": 10.0,
        "mean_completion": 5.0,
        "mean_flow": None,
        "p95_flow": None,
        "late_jobs": None,
        "ratio": Spread(1.0, ratio, 3.0),
        "gap": none,
        "seconds": none,
        **fields,
    }
    return MethodRow(method=name, best=best, **values)


def test_campaigns_say_which_method_most_often_has_the_least_makespan() -> None:
    search = method("search", 4, 1.0, optimal=3)
    others = [method("sjf", 1, 1.12), method("random", 0, 1.5), method("slow", 0, 2.0)]
    assert standing([others[1], search, others[0]]) == (
        "search has the least makespan in all of its 4 runs.",
        (
            "In the median, sjf takes 12% longer than the least and random 50%."
            " search is proven optimal in 3 of its 4 runs."
        ),
    )
    four = [*others, method("more", 0, 1.7), search]
    assert (
        "sjf takes 12% longer than the least, random 50%, more 70% and another method 100% or"
        in (standing(four).detail)
    )
    gap = Spread(0.0, 0.0034, 0.1)
    assert standing([method("m", 3, 1.0, gap=gap), others[0]]) == (
        "m has the least makespan in 3 of its 4 runs.",
        (
            "In the median, sjf takes 12% longer than the least. In the median, m is at most 0.34%"
            " from optimal."
        ),
    )


def test_campaigns_without_a_best_method_say_so() -> None:
    both = [method("a", 4, 1.0), method("b", 4, 1.0)]
    assert standing(both) == ("a and b have the least makespan in all of their runs.", "")
    halves = [method("a", 2, 1.0), method("b", 2, 1.1)]
    assert standing(halves).lead == (
        "a and b have the least makespan equally often, in 50% of their runs."
    )
    none = method("a", 0, None, solved=0, failed=4)
    assert standing([none]) == ("No run has a schedule.", "4 runs failed.")
    assert standing([method("a", 4, 1.0, failed=1)]) == (
        "a has a schedule in all of its 4 runs.",
        "1 run failed.",
    )
    assert standing([none, method("b", 3, 1.0, solved=3)]) == (
        "b has the least makespan in 3 of its 4 runs.",
        "4 runs failed.",
    )
