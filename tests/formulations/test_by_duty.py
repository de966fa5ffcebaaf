"""The programs by duty: their optimum is that of trying everything, from engine and verifier."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from contended import contended_instance
from documents import instance_data, job_data
from enumeration import optimal_makespan
from models import broken_constraints
from pressed import pressed
from scopes import scope_of

from rarmodel import solve
from rarmodel.exact.numbered_schedules import schedule_of
from rarmodel.files import parse_instance
from rarmodel.formulations import Formulation
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.compact_coefficients import coefficients
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.sharing_forms import Loads
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.model import paces
from rarmodel.model.sharing_rule import COUNT, UNITS
from rarmodel.schema import Instance
from rarmodel.schema.base import BILLION
from rarmodel.solvers import Solver
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.highs import HIGHS
from rarmodel.solvers.scip import SCIP
from rarmodel.verifier import verify

if TYPE_CHECKING:
    import pyomo.environ as pyo


class Model(NamedTuple):
    """A formulation and a solver for it."""

    formulation: Formulation
    solver: Solver


MODELS = {
    "time-indexed-highs": Model(TIME_INDEXED, HIGHS),
    "time-indexed-cpsat": Model(TIME_INDEXED, CPSAT),
    "compact-highs": Model(COMPACT, HIGHS),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def check(model: Model, instance: Instance) -> int:
    """The model alone, without a starting solution, finds and proves the optimum."""
    best = optimal_makespan(instance)
    assert best is not None
    scope = scope_of(instance, best + 1)
    assert model.formulation.unfit(scope) is None
    built = model.formulation.build(scope)
    answer = model.solver.solve(built, Limits(time_limit=120, threads=1))
    assert answer.termination == "finished"
    assert round(answer.bound or 0) == best
    plan = model.formulation.plan(built, scope)
    assert plan is not None
    assert verify(instance, schedule_of(instance, plan, "model")).makespan == best
    return best


def drawn(seed: int, *, tree: bool, equal: bool, jobs: int = 3) -> Instance:
    return contended_instance(Random(seed), jobs=jobs, tree=tree, equal=equal)


@every_model
def test_optimum_is_that_of_trying_everything(model: Model) -> None:
    differs = 0
    for seed in (0, 3):
        instance = drawn(seed, tree=seed % 2 == 1, equal=True)
        best = check(model, instance)
        contention = instance.contention.model_copy(update={"model": COUNT.name})
        differs += best != optimal_makespan(instance.model_copy(update={"contention": contention}))
    assert differs


def test_time_indexed_takes_links_of_several_rates() -> None:
    for seed in (1, 5):
        check(MODELS["time-indexed-highs"], drawn(seed, tree=True, equal=False))


@every_model
@pytest.mark.parametrize("seed", [0, 3])
def test_optimum_with_pressures_is_that_of_trying_everything(model: Model, seed: int) -> None:
    check(model, pressed(Random(seed), drawn(seed, tree=seed % 2 == 1, equal=True)))


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("seed", range(100, 160))
def test_optimum_with_pressures_is_that_of_trying_everything_often(seed: int, model: Model) -> None:
    equal = model.formulation is not TIME_INDEXED or seed % 2 == 0
    check(model, pressed(Random(seed), drawn(seed, tree=seed % 3 == 1, equal=equal)))


def test_loads_have_an_index_for_each_sensitivity() -> None:
    instance = drawn(0, tree=False, equal=True)
    factors: tuple[dict[str, float], ...] = (
        {"network_sensitivity": 0.5},
        {},
        {"network_pressure": 0.75},
    )
    jobs = (
        job.model_copy(update={"gpus": 4, **own})
        for job, own in zip(instance.jobs, factors, strict=True)
    )
    instance = instance.model_copy(update={"jobs": tuple(jobs)})
    scope = scope_of(instance, 10)
    for formulation in (COMPACT, RAR_DDLS):
        built = formulation.build(scope)
        columns = {index[2] for index in built.counts}
        assert columns == {"0.5", "1"}
    assert coefficients(scope).weight("j2", 2, BILLION // 2) == 0.75 * UNITS / 2


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("seed", range(100, 160))
def test_optimum_is_that_of_trying_everything_often(seed: int, model: Model) -> None:
    equal = model.formulation is not TIME_INDEXED or seed % 2 == 0
    check(model, drawn(seed, tree=seed % 3 == 1, equal=equal))


@pytest.mark.skipif(SCIP.version() is None, reason="SCIP is not installed")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), 6])
def test_the_papers_program_takes_duties(seed: int) -> None:
    instance = drawn(seed, tree=seed == 1, equal=True, jobs=2)
    short = [job.model_copy(update={"iterations": job.iterations // 4}) for job in instance.jobs]
    check(Model(RAR_DDLS, SCIP), instance.model_copy(update={"jobs": tuple(short)}))


@pytest.mark.skipif(SCIP.version() is None, reason="SCIP is not installed")
@pytest.mark.parametrize("seed", [0, pytest.param(6, marks=pytest.mark.slow)])
def test_the_papers_program_takes_pressures(seed: int) -> None:
    instance = pressed(Random(seed), drawn(seed, tree=False, equal=True, jobs=2))
    short = [job.model_copy(update={"iterations": job.iterations // 4}) for job in instance.jobs]
    check(Model(RAR_DDLS, SCIP), instance.model_copy(update={"jobs": tuple(short)}))


@pytest.mark.parametrize("formulation", [COMPACT, RAR_DDLS], ids=lambda one: one.name)
def test_some_programs_refuse_links_of_several_rates_in_a_line(formulation: Formulation) -> None:
    scope = scope_of(drawn(1, tree=True, equal=False), 10)
    assert formulation.unfit(scope) == (
        f"{formulation.name} takes contention by duty where all links have one rate; time-indexed "
        "takes others"
    )


def loaded(formulation: Formulation, instance: Instance) -> pyo.ConcreteModel:
    """The model of an instance, set to the values of a schedule that a short search finds."""
    found = solve(instance, method="search", iterations=3, threads=1)
    assert found.schedule is not None
    assert found.makespan is not None
    scope = scope_of(instance, found.makespan)
    model = formulation.build(scope)
    formulation.load(model, scope, found.schedule)
    return model


def test_a_schedule_starts_the_model_with_its_own_values() -> None:
    for formulation in (TIME_INDEXED, COMPACT, RAR_DDLS):
        instance = drawn(0, tree=False, equal=True)
        assert broken_constraints(loaded(formulation, instance)) == []
        for seed in range(3):
            assert broken_constraints(loaded(formulation, pressed(Random(seed), instance))) == []


@pytest.mark.parametrize("formulation", [COMPACT, RAR_DDLS], ids=lambda one: one.name)
def test_links_do_not_limit_a_ring_within_a_server(formulation: Formulation) -> None:
    data = instance_data(job_data("a", 2), horizon=9)
    data["contention"]["model"] = "duty"
    data["cluster"]["network"]["gbps"] = data["cluster"]["intra_server_gbps"] / 10
    assert broken_constraints(loaded(formulation, parse_instance(data))) == []


def test_a_limit_is_the_greatest_load_that_leaves_the_speed() -> None:
    instance = drawn(0, tree=False, equal=True)
    scope = scope_of(instance, 10)
    (link, *_) = scope.links
    pace = next(iter(paces(instance)[1].values()))
    loads = Loads(scope, {link: {"j0": [300_000], "j1": [500_000], "j2": [700_000]}})
    for level in loads.speeds(pace, 2, link):
        limit = loads.limit(pace, 2, link, level)
        reached = [load for load in range(0, 1_500_001, 100_000) if load <= limit]
        assert all(loads.speed(pace, 2, link, load) >= level for load in loads_of(reached))
        slow = [load for load in loads_of(range(0, 1_500_001, 100_000)) if load > limit]
        assert all(loads.speed(pace, 2, link, load) < level for load in slow)
    assert loads.most_beside("j1", link) == 1_000_000


def loads_of(some: object) -> list[int]:
    """Those of some loads that the three rings can have together."""
    sums = {0, 300_000, 500_000, 700_000, 800_000, 1_000_000, 1_200_000, 1_500_000}
    return [load for load in some if load in sums]  # type: ignore[attr-defined]
