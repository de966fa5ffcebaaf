"""The time-indexed model of interrupted jobs beside every choice in every slot."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Any

import pytest
from documents import instance_data, job_data
from preemptive_optimum import optima
from wide_instances import FEATURES, OBJECTIVES, optimum, random_wide

import rarmodel
from rarmodel.files import parse_instance
from rarmodel.formulations.time_indexed_preemptive import TIME_INDEXED_PREEMPTIVE
from rarmodel.model.features import PREEMPTION
from rarmodel.schema import Instance
from rarmodel.verifier import verify

NAME = "time-indexed-preemptive"
LATEST = 7


def tiny(random: Random, features: Collection[str], jobs: int) -> Instance:
    """An instance of two servers, with slots in which contention may bring speeds to 0."""
    while True:
        instance = random_wide(
            random,
            {PREEMPTION.name, *features},
            jobs=jobs,
            servers=random.randint(1, 2),
            most_slots=3,
            stall=random.random() < 0.3,
        )
        few = sum(server.gpus for server in instance.cluster.servers) <= 4
        if few and max(job.iterations_left for job in instance.jobs) <= 60:
            time = instance.time.model_copy(update={"horizon": LATEST})
            return instance.model_copy(update={"time": time})


def check(instance: Instance, names: Collection[str], solver: str) -> bool:
    """The model's optimum is that of every choice; whether there is one."""
    best = optima(instance.model_copy(update={"objective": OBJECTIVES}), LATEST)
    for name in names:
        asked = instance.model_copy(update={"objective": name})
        found = rarmodel.solve(asked, formulation=NAME, solver=solver)
        if best is None:
            assert found.status == "infeasible", name
            continue
        assert found.status == "optimal", (name, found.stopped)
        assert found.schedule is not None
        report = verify(asked, found.schedule, slot_by_slot=True)
        assert report.feasible
        assert report.objective == {name: best[name]}
    return best is not None


@pytest.mark.parametrize("solver", ["cpsat", "highs"])
@pytest.mark.parametrize("seed", range(12))
def test_optimum_is_that_of_every_choice_in_every_slot(seed: int, solver: str) -> None:
    random = Random(seed)
    features = random.sample(FEATURES, random.randint(0, 3))
    check(tiny(random, features, 2), random.sample(OBJECTIVES, 2), solver)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_optimum_of_two_or_three_jobs_is_that_of_every_choice(seed: int) -> None:
    random = Random(seed)
    features = random.sample(FEATURES, random.randint(0, 4))
    check(tiny(random, features, random.choice([2, 2, 3])), OBJECTIVES, "cpsat")


@pytest.mark.parametrize("seed", range(6))
def test_objectives_one_after_another_start_from_the_schedule_before(seed: int) -> None:
    random = Random(seed)
    instance = tiny(random, random.sample(FEATURES, 2), 2)
    names = tuple(random.sample(OBJECTIVES, 2))
    best = optima(instance.model_copy(update={"objective": names}), LATEST)
    found = rarmodel.solve(instance.model_copy(update={"objective": names}), formulation=NAME)
    if best is None:
        assert found.status == "infeasible"
        return
    assert found.status == "optimal"
    assert found.report is not None
    assert found.report.objective is not None
    first, second = (found.report.objective[name] for name in names)
    assert first == best[names[0]]
    assert second >= best[names[1]]


@pytest.mark.parametrize("seed", range(8))
def test_every_solution_of_the_model_is_one_that_its_variables_can_be_set_to(seed: int) -> None:
    """An extension judges a schedule by setting all variables to it."""
    random = Random(seed)
    instance = tiny(random, random.sample(FEATURES, random.randint(0, 3)), 2)
    own = TIME_INDEXED_PREEMPTIVE.extended(
        "own", objective=lambda m, scope: sum(m.completion[j] for j in scope.jobs)
    )
    plain = rarmodel.solve(instance, formulation=own)
    best = optima(instance.model_copy(update={"objective": ("total-completion",)}), LATEST)
    assert (plain.schedule is None) == (best is None)
    if plain.report is not None:
        ends = [end for end in plain.report.completion.values() if end is not None]
        weighted = instance.model_copy(
            update={"jobs": tuple(j.model_copy(update={"weight": 1}) for j in instance.jobs)}
        )
        best = optima(weighted.model_copy(update={"objective": ("total-completion",)}), LATEST)
        assert best == {"total-completion": sum(ends)}


@pytest.mark.parametrize("seed", range(8))
def test_without_preemption_it_gives_the_optimum_of_one_segment_each(seed: int) -> None:
    random = Random(seed)
    instance = tiny(random, random.sample(FEATURES, 2), 2)
    name = random.choice(OBJECTIVES)
    plain = instance.model_copy(update={"preemption": None, "objective": name})
    values = optimum(plain, LATEST)
    found = rarmodel.solve(plain, formulation=NAME)
    assert found.status == ("infeasible" if values is None else "optimal")
    if found.report is not None:
        assert found.report.objective == {name: values and values[0]}


def test_an_interruption_is_worth_a_restoration_and_a_resize() -> None:
    # A long ring of 2 GPUs makes room for a short job that is due, and goes on in the other size.
    data = instance_data(
        job_data("long", gpus=[1, 2], iterations=50, global_batch_size=2),
        job_data("short", gpus=2, iterations=10, release=2, weight=9),
        servers=(2,),
    )
    del data["jobs"][0]["batch_size"]
    data |= {"preemption": {"restore_seconds": 1.0}, "objective": "total-flow"}
    instance = parse_instance(data)
    found = rarmodel.solve(instance, formulation=NAME)
    assert found.status == "optimal"
    assert found.report is not None
    assert found.report.completion == {"long": 7, "short": 3}
    assert found.schedule is not None
    assert [len(one.segments) for one in found.schedule.assignments] == [2, 1]


@pytest.mark.parametrize(
    ("fields", "value", "interrupted"),
    [
        ({}, 6 + 3, True),  # Interrupted in slot 3, it goes on in slot 4.
        ({"checkpoint_iterations": 10}, 6 + 3, True),
        ({"checkpoint_iterations": 20}, 7 + 3, True),  # A slot's work is lost.
        ({"checkpoint_iterations": None}, 9 + 3, None),  # All is lost.
        ({"preemptible": False}, 5 + 9, False),  # The other one waits until slot 5.
    ],
)
def test_what_an_interruption_loses_decides_whether_it_pays(
    fields: dict[str, Any], value: int, interrupted: bool | None
) -> None:
    data = instance_data(
        job_data("long", iterations=50, running={"gpus": {"s0": [0]}, "iterations_done": 0}),
        job_data("short", iterations=10, release=3, weight=3),
        servers=(1,),
        horizon=12,
    )
    data["jobs"][0] |= fields
    data |= {"preemption": {"restore_seconds": 0.0}, "objective": "total-flow"}
    instance = parse_instance(data)
    found = rarmodel.solve(instance, formulation=NAME)
    assert found.status == "optimal"
    assert found.report is not None
    assert found.report.objective == {"total-flow": value}
    assert optima(instance, 12) == {"total-flow": value}
    assert found.schedule is not None
    assert interrupted in {None, len(found.schedule.assignments[0].segments) > 1}


def test_a_new_segment_on_the_same_gpus_can_be_worth_its_restoration() -> None:
    """It takes a ring off its links. Both rings stand still beside each other, none alone."""
    ring: dict[str, Any] = {"gpus": 2, "gradient_mb": 100.0, "backward_ms": 0.0}
    data = instance_data(
        job_data("a", iterations=3, running=run_of("s0", "s1"), **ring),
        job_data("b", iterations=1, running=run_of("s0", "s1", gpu=1), **ring),
    )
    data["time"] = {"slot_seconds": 0.1, "horizon": 10}
    data |= {"preemption": {"restore_seconds": 0.1}}
    instance = parse_instance(data)
    found = rarmodel.solve(instance, formulation=NAME)
    assert found.status == "optimal"
    assert found.report is not None
    best = optima(instance.model_copy(update={"objective": ("makespan",)}), 10)
    assert best == {"makespan": found.report.makespan}


def run_of(*servers: str, gpu: int = 0) -> dict[str, Any]:
    return {"gpus": {name: [gpu] for name in servers}, "iterations_done": 0}


def test_comparisons_of_everything_have_it_only_where_jobs_may_be_interrupted() -> None:
    data = instance_data(job_data("a", iterations=20), horizon=4)
    for more, expected in (({}, False), ({"preemption": {"restore_seconds": 1.0}}, True)):
        (compared,) = rarmodel.compare(parse_instance({**data, **more}), time_limit=0.2)
        assert (NAME in {result.formulation for result in compared.results}) == expected
