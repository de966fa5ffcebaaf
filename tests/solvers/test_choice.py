"""Which solver is asked if nobody says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from scopes import scope_of

from rarmodel import generate, registry
from rarmodel.api.formulation_choices import solvers_for
from rarmodel.defaults import AUTO
from rarmodel.errors import UsageError
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.model import horizon_of
from rarmodel.solvers import Answer, Solver, first_answer
from rarmodel.solvers.choice import PREFERENCE, SMALL, preferred, require_solvers
from rarmodel.solvers.highs import HIGHS

ALL = [registry.find("solvers", name) for name in registry.names("solvers")]


def names(solvers: Sequence[Solver]) -> list[str]:
    return [solver.name for solver in solvers]


def test_large_integer_models_go_to_cp_sat_and_small_ones_to_highs() -> None:
    assert names(preferred(ALL, "integer")) == ["cpsat", "highs", "scip", "gurobi"]
    assert names(preferred(ALL, "integer", SMALL + 1))[0] == "cpsat"
    assert names(preferred(ALL, "integer", SMALL)) == ["highs", "cpsat", "scip", "gurobi"]


def test_models_with_a_tight_relaxation_go_to_highs_whatever_their_size() -> None:
    assert names(preferred(ALL, "integer", 10 * SMALL, tight=True))[0] == "highs"
    assert names(preferred(ALL, "intervals", tight=True))[0] == "cpsat"


@pytest.mark.parametrize("contention", [False, True])
@pytest.mark.parametrize("objective", ["total-flow", "makespan"])
def test_sums_without_contention_are_tight_over_slots(objective: str, contention: bool) -> None:
    instance = generate(
        "paper",
        jobs=12,
        servers=8,
        capacities=(4,),
        contention=contention,
        objective=objective,
    )
    tight = TIME_INDEXED.tight(scope_of(instance, horizon_of(instance)))
    assert tight is (objective == "total-flow" and not contention)


def test_every_class_prefers_solvers_that_solve_it() -> None:
    by_name = {solver.name: solver for solver in ALL}
    for model_class, order in PREFERENCE.items():
        assert all(model_class in by_name[name].model_classes for name in order)


def test_auto_is_every_solver_that_fits_and_a_name_is_that_one() -> None:
    assert solvers_for(TIME_INDEXED, AUTO) == solvers_for(TIME_INDEXED, None)
    assert {"cpsat", "highs"} <= set(names(solvers_for(TIME_INDEXED, AUTO)))
    assert solvers_for(RAR_DDLS, "highs") == [HIGHS]
    with pytest.raises(UsageError, match="no installed solver solves quadratic models"):
        require_solvers("quadratic", "mine")


def test_a_solver_that_refuses_a_model_gives_way_to_the_next() -> None:
    class Refuses:
        name = "refuses"

        def solve(self, model: object, limits: object) -> Answer:
            raise UsageError("not this one")

    class Solves(Refuses):
        def solve(self, model: object, limits: object) -> Answer:
            return Answer("finished", False, 1.0, 0.0, "")

    solvers: list[object] = [Refuses(), Solves(), Refuses()]
    answer = first_answer(solvers, None, None)  # type: ignore[arg-type]
    assert answer.termination == "finished"
    assert len(solvers) == 2
    with pytest.raises(UsageError, match="not this one"):
        first_answer([Refuses()], None, None)  # type: ignore[arg-type, list-item]
