"""HiGHS is silent, uses no wrong presolve rule, and shares a process with OR-Tools from 1.16 on."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pyomo.environ as pyo
import pytest

from rarmodel.errors import UsageError
from rarmodel.highs_library import WRONG_RULES, highspy, silent_highs
from rarmodel.limits import Limits
from rarmodel.solvers.highs import AGGREGATOR, HIGHS

CALLER = """
import ortools.sat.python.cp_model
import rarmodel
try:
    print(rarmodel.solve("two-servers", {}, time_limit=60).makespan)
except rarmodel.UsageError as error:
    print(error)
"""


@pytest.mark.parametrize("part", ['method="search"', 'formulation="time-indexed", solver="highs"'])
def test_a_caller_that_has_loaded_or_tools_gets_an_answer_or_reads_why_not(part: str) -> None:
    pytest.importorskip("highspy")
    pytest.importorskip("ortools")
    ran = subprocess.run(
        [sys.executable, "-c", CALLER.format(part)], capture_output=True, text=True, check=True
    )
    (line,) = ran.stdout.splitlines()
    if tuple(map(int, version("highspy").split(".")[:2])) < (1, 16):
        assert "cannot load HiGHS" in line
        assert "OR-Tools" in line
    else:
        assert line == "12"


def test_highs_that_cannot_be_loaded_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(UsageError, match="rarmodel cannot load HiGHS") as refused:
        highspy()
    assert "\n" not in str(refused.value)


def test_highs_prints_nothing_unless_told_to(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("highspy")
    highs = silent_highs()
    highs.addVar(0.0, 1.0)
    highs.run()
    assert capfd.readouterr() == ("", "")
    highs.setOptionValue("output_flag", True)
    highs.clearSolver()
    highs.run()
    assert "HiGHS" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("domain", "rules"), [(pyo.Reals, AGGREGATOR | WRONG_RULES), (pyo.Binary, WRONG_RULES)]
)
def test_the_adapter_keeps_wrong_presolve_rules_off(
    domain: object, rules: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("highspy")
    highs = silent_highs()
    monkeypatch.setattr("rarmodel.solvers.highs.silent_highs", lambda: highs)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=domain, bounds=(0, 1))
    model.y = pyo.Var(domain=domain, bounds=(0, 1))
    # Without a row, Pyomo adds one with a continuous variable.
    model.row = pyo.Constraint(expr=model.x + model.y >= 1)
    model.cost = pyo.Objective(expr=model.x)
    assert HIGHS.solve(model, Limits()).termination == "finished"
    assert highs.getOptionValue("presolve_rule_off")[1] == rules
