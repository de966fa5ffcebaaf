"""Ties: completions and links fall, and nothing of the objectives is given up."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from depth import first
from random_instances import random_instance
from wide_instances import OBJECTIVES, WIDE, random_wide

from rarmodel import load_instance, solve
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.model.features import DEADLINES, LEVELS, RESOURCES
from rarmodel.model.objectives import Value, objectives_of, ties_of
from rarmodel.packing.repacking import Repacking, mirrored
from rarmodel.packing.solution import Solution, one_after_another
from rarmodel.schema import Instance, Schedule
from rarmodel.search import Session
from rarmodel.search.ties import Budget, Ties, budget_after
from rarmodel.verifier import verify

NAMES = [feature.name for feature in WIDE]


def plain(seed: int, jobs: int = 12) -> Instance:
    return random_instance(
        Random(seed), jobs=jobs, servers=4, tree=seed % 2 == 1, most_slots=12, stall=seed % 3 == 0
    )


def first_solution(instance: Instance, seed: int = 0) -> Solution:
    session = Session(instance, Limits(threads=1, seed=seed))
    session.run(iterations=2)
    assert session.solution is not None
    return session.solution


def values(instance: Instance, schedule: Schedule | None) -> tuple[Value, ...]:
    assert schedule is not None
    report = verify(instance, schedule)
    assert report.feasible
    return (*(report.objective or {}).values(), *(report.ties or {}).values())


def alone(instance: Instance) -> Instance:
    """The same with a list of its objectives: then no ties come after them."""
    return instance.model_copy(update={"objective": instance.objectives})


@pytest.mark.parametrize("seed", range(12))
def test_a_mirrored_solution_is_feasible_and_no_longer(seed: int) -> None:
    instance = plain(seed)
    solution = first_solution(instance)
    other = mirrored(instance, solution)
    assert other is not None
    assert other.makespan <= solution.makespan
    report = verify(instance, other.schedule(instance, "mirrored"))
    assert report.feasible
    assert report.makespan == other.makespan
    assert np.array_equal(other.starts, solution.makespan - solution.completions)


@pytest.mark.parametrize("seed", range(12))
def test_repacking_keeps_the_makespan_and_tells_completions_that_hold(seed: int) -> None:
    instance = plain(seed)
    solution = first_solution(instance)
    packings = Repacking(instance, solution, Limits(threads=2, seed=seed))
    packings.run(None, 40, None, 0.0)
    found = packings.solution
    assert found.makespan <= solution.makespan
    report = verify(instance, found.schedule(instance, "packed"))
    assert report.feasible
    completions = [report.completion[job.name] for job in instance.jobs]
    assert all(
        end is not None and end <= most
        for end, most in zip(completions, found.completions, strict=True)
    )
    assert packings.total == found.completions.sum() <= solution.completions.sum()


def test_repacking_finds_the_order_of_shortest_jobs_first() -> None:
    # One server of one GPU: any order takes as long, and the shortest first completes earliest.
    instance = random_instance(Random(1), jobs=6, servers=1, tree=False, most_slots=9)
    jobs = tuple(job.model_copy(update={"gpus": 1}) for job in instance.jobs)
    server = instance.cluster.servers[0].model_copy(update={"gpus": 1})
    cluster = instance.cluster.model_copy(update={"servers": (server,)})
    instance = instance.model_copy(update={"jobs": jobs, "cluster": cluster})
    start = one_after_another(instance)
    packings = Repacking(instance, start, Limits(threads=1))
    packings.run(None, 60, None, 0.0)
    slots = sorted((start.completions - start.starts).tolist())
    assert packings.total == sum(np.cumsum(slots))
    assert packings.total < start.completions.sum()


def test_weights_say_who_completes_first() -> None:
    instance = load_instance("paper-160")
    heavy = [i for i, job in enumerate(instance.jobs) if job.size == 1][:10]
    jobs = tuple(
        job.model_copy(update={"weight": 500 if i in heavy else 1})
        for i, job in enumerate(instance.jobs)
    )
    means = []
    for one in (instance, instance.model_copy(update={"jobs": jobs})):
        result = solve(one, method="search", iterations=12, threads=2, seed=1)
        assert result.report is not None
        ends = [result.report.completion[one.jobs[i].name] for i in heavy]
        means.append(sum(end for end in ends if end is not None))
    assert means[1] < means[0]


@pytest.mark.parametrize("seed", first(4, range(16)))
def test_no_schedule_gets_worse_whatever_it_is(seed: int) -> None:
    random = Random(seed)
    features = NAMES if seed % 2 else []
    objective = OBJECTIVES[seed % len(OBJECTIVES)]
    instance = random_wide(random, features, jobs=7, servers=3, objectives=(objective,))
    schedule = solve(instance, method="fifo-backfill").schedule
    if schedule is None:
        pytest.skip("the rule finds none")
    search = Ties(instance, schedule, Limits(threads=2, seed=seed))
    search.run(Budget(iterations=12))
    assert values(instance, search.schedule) <= values(instance, schedule)


def test_the_makespan_stays_and_jobs_complete_earlier() -> None:
    instance = load_instance("paper-160")
    first = solve(instance, method="search", iterations=1, objective=["makespan"], threads=2)
    assert first.schedule is not None
    search = Ties(instance, first.schedule, Limits(threads=2))
    search.run(Budget(iterations=120))
    (makespan, total, _), (most, before, _) = (
        values(instance, one) for one in (search.schedule, first.schedule)
    )
    assert makespan <= most
    assert total < 0.85 * before


@pytest.mark.parametrize("name", ["two-servers", "philly-2869ce", "rack-tree", "spreading-mistake"])
def test_the_first_objective_is_as_without_it(name: str) -> None:
    for seed in (0, 1):
        one, other = (
            solve(name, method="search", iterations=4, threads=2, seed=seed, objective=asked)
            for asked in (["makespan"], "makespan")
        )
        assert one.makespan is not None
        assert other.makespan is not None
        assert other.makespan <= one.makespan
        instance = load_instance(name)
        assert values(instance, other.schedule) <= values(instance, one.schedule)


@pytest.mark.parametrize("threads", [1, 2])
def test_iterations_make_it_repeatable(threads: int) -> None:
    schedules = [
        solve("philly-2869ce", method="search", iterations=8, threads=threads, seed=3).schedule
        for _ in "ab"
    ]
    assert schedules[0] == schedules[1]


def names(instance: Instance) -> list[str]:
    return [tie.name for tie in ties_of(instance)]


def test_a_name_is_completed_and_a_list_is_taken_as_it_is() -> None:
    instance = load_instance("two-servers")
    assert names(instance) == ["total-completion", "total-links"]
    assert names(asked(instance, "max-flow")) == ["total-completion", "total-links"]
    assert names(asked(instance, "cost")) == ["total-completion", "total-links"]
    for several in (("makespan",), ("makespan", "total-flow"), ("total-links", "makespan")):
        listed = asked(instance, several)
        assert names(listed) == []
        result = solve(listed, method="search", iterations=2, threads=1)
        assert result.ties == ()
        assert result.summary()["ties"] == []


def test_what_cannot_differ_between_equal_schedules_is_left_out() -> None:
    instance = load_instance("two-servers")
    # Total flow is total completion but for a constant.
    assert names(asked(instance, "total-completion")) == ["total-links"]
    assert names(asked(instance, "total-flow")) == ["total-links"]
    assert names(asked(instance, "total-links")) == ["total-completion"]
    assert "total-completion" in names(asked(instance, "total-tardiness"))
    small = [job.model_copy(update={"gpus": 1}) for job in instance.jobs]
    assert names(instance.model_copy(update={"jobs": tuple(small)})) == ["total-completion"]
    cluster = instance.cluster.model_copy(update={"servers": instance.cluster.servers[:1]})
    assert names(instance.model_copy(update={"cluster": cluster})) == ["total-completion"]


def asked(instance: Instance, objective: str | tuple[str, ...]) -> Instance:
    return instance.model_copy(update={"objective": objective})


@pytest.mark.parametrize("objective", first(2, ["max-flow", "cost", "late-jobs", "max-stretch"]))
def test_wider_instances_keep_their_objective(objective: str) -> None:
    # Of 14 jobs that may need a rack each, or a licence, hardly a draw has room for all.
    scarce = {DEADLINES.name, LEVELS.name, RESOURCES.name}
    features = [name for name in NAMES if name not in scarce]
    instance = random_wide(Random(4), features, jobs=14, servers=4, objectives=(objective,))
    one, other = (
        solve(some, method="search", iterations=8, threads=2)
        for some in (alone(instance), instance)
    )
    assert values(instance, other.schedule) <= values(instance, one.schedule)
    assert [goal.name for goal in other.objective] == [one.name for one in objectives_of(instance)]


def test_an_exact_solve_turns_to_them_too() -> None:
    one, other, least = (
        solve("two-servers", formulation="time-indexed", objective=asked)
        for asked in (["makespan"], "makespan", ["makespan", "total-completion", "total-links"])
    )
    assert one.makespan == other.makespan == least.makespan == 12
    assert one.ties == ()
    assert other.report is not None
    total, links = other.ties
    assert total.value == sum(end or 0 for end in other.report.completion.values())
    # What the models prove of the list is met without a model of it.
    assert [total.value, links.value] == [goal.value for goal in least.objective[1:]]
    assert least.status == "optimal"


def test_ties_have_a_fifth_of_all() -> None:
    assert budget_after(Limits(iterations=40), 0.0, None) == Budget(None, 10, None)
    assert budget_after(Limits(patience=7), 0.0, None) == Budget(None, None, 7)
    soon = budget_after(Limits(time_limit=1.0), 0.0, 1.0)
    assert soon.deadline == 1.0


def test_ctrl_c_keeps_the_objective_and_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Ties, budget: Budget) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ties, "run", interrupted)
    result = solve("two-servers", method="search", threads=1)
    assert result.stopped == INTERRUPTED
    assert (result.status, result.makespan) == ("optimal", 12)


def test_results_say_them() -> None:
    result = solve("two-servers", method="search", iterations=30, threads=1)
    total, links = result.summary()["ties"]
    assert result.report is not None
    assert total == {
        "objective": "total-completion",
        "value": sum(end or 0 for end in result.report.completion.values()),
        "bound": 30,
        "proved_by": total["proved_by"],
    }
    assert links["bound"] <= links["value"]
    assert "at least 30" in result.lines()["total-completion"]
    assert result.lines()["total-links"] == f"{links['value']} links (at least {links['bound']})"
    assert result.report.summary()["ties"] == {
        "total-completion": total["value"],
        "total-links": links["value"],
    }
    assert len(solve("two-servers", method="fifo-backfill").ties) == 2
