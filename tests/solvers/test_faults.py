"""Known faults of solvers: each shows where the installed version has it, and stays away."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import rarmodel
from rarmodel import highs_library, solver_faults
from rarmodel.limits import Limits
from rarmodel.proof import timetable
from rarmodel.solver_faults import AGGREGATOR, ENUMERATION, FAULTS, INCLUSION, PROBING, settings
from rarmodel.solvers import cpsat
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.highs import HIGHS

SOURCES = Path(rarmodel.__file__).parent


@pytest.mark.parametrize(
    ("installed", "right"),
    [
        ("9.12.4544", {"presolve_inclusion_work_limit": 0}),
        ("9.15.6755", {"presolve_inclusion_work_limit": 0}),
        ("9.15", {"presolve_inclusion_work_limit": 0}),
        ("9.16.0rc1", {}),
        ("10.0", {}),
    ],
)
def test_a_setting_holds_for_the_versions_with_the_fault(
    installed: str, right: dict[str, Any]
) -> None:
    assert settings("ortools", installed) == right


def test_bits_of_one_option_add_up() -> None:
    assert settings("highspy", "1.16.0") == {"presolve_rule_off": 0x18000}
    assert settings("highspy", "1.16.0", continuous=True) == {"presolve_rule_off": 0x19000}


def test_a_version_that_is_not_known_has_all_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(solver_faults, "installed_version", none)
    assert settings("ortools") == {INCLUSION.option: INCLUSION.value}


def test_every_fault_has_a_source_and_says_what_is_wrong() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert fault.wrong
        assert fault.source
        assert settings(fault.package, "0" if fault.since is None else None, continuous=True)


def thirty_two_bits() -> pyo.ConcreteModel:
    """A row whose coefficients add up past 2^31; the optimum, by trying all 32 cases, is 3."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(5), domain=pyo.Binary)
    x = model.x
    model.at_most_one = pyo.Constraint(expr=x[0] + x[4] <= 1)
    model.row = pyo.Constraint(
        expr=-5629499534213121 * x[1]
        - 2251799813685250 * x[0]
        + 2251799813685245 * x[4]
        - 3377699720527870 * x[2]
        - 9007199254740992 * x[3]
        <= -4407207860511098
    )
    model.cost = pyo.Objective(expr=5 * x[0] + 4 * x[1] + 3 * x[2] + 5 * x[3] - 2 * x[4])
    return model


@pytest.mark.skipif(CPSAT.version() is None, reason="OR-Tools is not installed")
def test_cpsat_does_not_add_up_in_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = CPSAT.solve(thirty_two_bits(), Limits(threads=1))
    assert answer.termination == "finished"
    assert answer.bound == pytest.approx(3)
    if settings("ortools"):
        # The installed version has the fault, so this test shows it.
        monkeypatch.setattr(cpsat, "settings", lambda _: {})
        wrong = CPSAT.solve(thirty_two_bits(), Limits(threads=1))
        assert wrong.termination == "finished"
        assert wrong.bound == pytest.approx(4)


def scaled(instance: dict[str, Any], times: int) -> dict[str, Any]:
    """The same problem in iterations that are so much shorter and more."""
    for job in instance["jobs"]:
        job["iterations"] *= times
        job["gradient_mb"] /= times
        for part in [job] if "backward_ms" in job else job["times"].values():
            part["forward_ms_per_sample"] /= times
            part["backward_ms"] /= times
    instance["contention"]["overhead_ms_per_server"] /= times
    return instance


@pytest.mark.slow
@pytest.mark.skipif(CPSAT.version() is None, reason="OR-Tools is not installed")
@pytest.mark.parametrize("times", [1000, 10**6, 10**7, 10**9])
def test_cpsat_finds_the_optimum_however_many_iterations_there_are(times: int) -> None:
    drawn = rarmodel.generate(
        "small", seed=19, features={"deadlines": {}, "releases": {}, "reservations": {}}
    )
    instance = scaled(json.loads(rarmodel.to_json(drawn)), times)
    model, _ = rarmodel.formulate(rarmodel.schema.Instance.model_validate(instance), "time-indexed")
    for variable in model.component_data_objects(pyo.Var):
        if not variable.fixed:
            variable.set_value(None, skip_validation=True)
    answer = CPSAT.solve(model, Limits(threads=1))
    assert answer.termination == "finished"
    assert answer.bound == pytest.approx(9)


PROGRAM = Path(__file__).with_name("enumeration.mps")
"""One of the programs of a joined dive into `REFUTED` of `tests/search/test_lanes.py`."""


LOST = Path(__file__).with_name("probing.mps")
"""A second stage of `time-indexed` with an addition: jobs 0 and 1 never run at once. Its optimum
is 66; CP-SAT and SCIP agree."""


def status(options: dict[str, int], program: Path = PROGRAM) -> str:
    """What HiGHS says of a program that has solutions."""
    highs = highs_library.silent_highs()
    highs.readModel(str(program))
    for option, value in options.items():
        highs.setOptionValue(option, value)
    highs.run()
    return str(highs.modelStatusToString(highs.getModelStatus()))


def test_highs_loses_no_solutions_by_enumeration() -> None:
    assert status({}) == "Optimal"
    if version("highspy").startswith("1.16."):
        assert status({ENUMERATION.option: 0}) == "Infeasible"


@pytest.mark.parametrize("other", [0, 9, 12, 14])
def test_highs_loses_no_solutions_by_probing(other: int) -> None:
    # The order of rules decides: without another rule, too, it finds the solutions.
    off = 1 << other
    mended = settings("highspy")["presolve_rule_off"]
    assert isinstance(mended, int)
    assert status({PROBING.option: mended | off}, LOST) == "Optimal"
    if version("highspy").startswith("1.16.") and other:
        assert status({PROBING.option: int(ENUMERATION.value) | off}, LOST) == "Infeasible"


@pytest.mark.parametrize(
    ("domain", "faults"),
    [(pyo.Reals, [AGGREGATOR, PROBING, ENUMERATION]), (pyo.Binary, [PROBING, ENUMERATION])],
)
def test_highs_keeps_wrong_presolve_rules_off(
    domain: object, faults: list[solver_faults.Fault], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("highspy")
    highs = highs_library.silent_highs()
    monkeypatch.setattr("rarmodel.solvers.highs.silent_highs", lambda: highs)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=domain, bounds=(0, 1))
    model.y = pyo.Var(domain=domain, bounds=(0, 1))
    # Without a row, Pyomo adds one with a continuous variable.
    model.row = pyo.Constraint(expr=model.x + model.y >= 1)
    model.cost = pyo.Objective(expr=model.x)
    assert HIGHS.solve(model, Limits()).termination == "finished"
    right = sum(int(fault.value) for fault in faults)
    assert highs.getOptionValue("presolve_rule_off")[1] == right


def test_whoever_makes_a_solver_asks_for_its_settings() -> None:
    made = re.compile(r"\bHighs\(\)|\.Highs\)|CpSolver\(\)")
    makers = {
        path.relative_to(SOURCES).as_posix()
        for folder in (SOURCES, SOURCES / "solvers", SOURCES / "formulations")
        for path in folder.rglob("*.py")
        if made.search(path.read_text(encoding="utf-8").replace("HIGHS = Highs()", ""))
    }
    assert makers == {
        "highs_library.py",
        "proof/timetable_process.py",
        "solvers/cpsat_process.py",
    }
    # The programs import nothing of rarmodel, so they are told.
    for program in (timetable.PROGRAM, cpsat.PROGRAM):
        assert 'request["settings"].items()' in program.read_text(encoding="utf-8")
    assert 'settings("ortools")' in Path(timetable.__file__).read_text(encoding="utf-8")
    assert 'settings("ortools")' in Path(cpsat.__file__).read_text(encoding="utf-8")


def large(coefficient: float, *, cost: float = 1.0) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), domain=pyo.Integers, bounds=(0, 4))
    model.row = pyo.Constraint(expr=sum(coefficient * model.x[i] for i in range(3)) >= coefficient)
    model.cost = pyo.Objective(expr=cost * sum(model.x[i] for i in range(3)))
    return model


@pytest.mark.skipif(CPSAT.version() is None, reason="OR-Tools is not installed")
@pytest.mark.parametrize(
    ("model", "what"),
    [
        (large(2.0**59), "constraint row"),
        (large(2.0**62), "constraint row"),
        (large(2.0**70), "constraint row"),
        (large(1.0, cost=2.0**52), "the objective"),
        (large(1.0, cost=2.0**64), "the objective"),
    ],
)
def test_sums_beyond_cpsats_arithmetic_are_refused(model: pyo.ConcreteModel, what: str) -> None:
    with pytest.raises(rarmodel.UsageError, match=f"{what} has numbers too large") as refused:
        CPSAT.solve(model, Limits(threads=1))
    assert "highs, scip and gurobi can solve more" in str(refused.value)


@pytest.mark.skipif(CPSAT.version() is None, reason="OR-Tools is not installed")
@pytest.mark.parametrize(
    "model", [large(2.0**58), large(2.0**31), large(1.0, cost=2.0**49)], ids=["58", "31", "cost"]
)
def test_sums_within_it_are_solved(model: pyo.ConcreteModel) -> None:
    answer = CPSAT.solve(model, Limits(threads=1))
    assert (answer.termination, answer.has_solution) == ("finished", True)
    assert answer.bound == pyo.value(model.cost)
    assert sum(model.x[i].value for i in range(3)) == 1


def test_the_settings_are_known_without_the_solver() -> None:
    """Asking for settings loads no solver: it stays light."""
    code = (
        "import sys; from rarmodel.solver_faults import settings; settings('ortools');"
        "print(sorted({'ortools', 'highspy'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_scip_gives_ipopt_the_setting_against_its_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    scip = pytest.importorskip("rarmodel.solvers.scip")
    pytest.importorskip("pyscipopt")
    read = []
    run = scip._run

    def watched(solver: Any, *others: Any) -> None:
        read.append(Path(solver.getParam(scip.IPOPT_OPTIONS)).read_text(encoding="utf-8"))
        run(solver, *others)

    monkeypatch.setattr(scip, "_run", watched)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(1, 5))
    model.y = pyo.Var(bounds=(1, 5), domain=pyo.Integers)
    model.product = pyo.Constraint(expr=model.x * model.y >= 7)
    model.cost = pyo.Objective(expr=model.x + model.y)
    answer = scip.SCIP.solve(model, Limits(time_limit=20))
    assert read == ["mumps_pivot_order 0\n"]
    assert answer.value == pytest.approx(3 + 7 / 3, abs=1e-5)
