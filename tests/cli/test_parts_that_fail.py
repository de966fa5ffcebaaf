"""Parts of users that fail, exit or return nonsense: one line with the part and its line."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rarmodel.api import solving
from rarmodel.errors import PartError

if TYPE_CHECKING:
    from invocation import Invoke

PARTS = """
import json
import sys
from dataclasses import replace

import pyomo.environ as pyo

from rarmodel.bounds import Bound, LowerBound
from rarmodel.lists.dispatching_rules import Rule
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import Policy, first_fit
from rarmodel.methods import Attempt, Neighbourhood
from rarmodel.model.objectives import Objective, Term
from rarmodel.online import Decision, Placement
from rarmodel.online import Policy as Online
from rarmodel.solvers import Answer


def fails(*_):
    return json.loads("[")  # HERE


def leaves(*_):
    sys.exit(0)  # THERE


class Method:
    name = "mine"

    def __init__(self, call):
        self.call = call

    def __call__(self, instance, limits):
        return self.call(instance, limits)


M_FAILS, M_LEAVES = Method(fails), Method(leaves)
M_NONE = Method(lambda *_: None)
M_SCHEDULE = Method(lambda *_: Attempt(3, "done"))
M_WORDS = Method(lambda *_: Attempt(None, None))
M_BOUND = Method(lambda *_: Attempt(None, "", LowerBound(float("nan"), "x")))


def halved(instance, limits):
    made = first_fit(instance, limits)
    first, *others = made.schedule.assignments
    first = first.model_copy(update={"start": 0.5})
    schedule = made.schedule.model_copy(update={"assignments": (first, *others)})
    return Attempt(schedule, "done")


M_HALF = Method(halved)
M_PREPARE = Method(lambda *_: None)
M_PREPARE.prepare = fails
P_ORDER = Policy("mine", first_fit.rule, order=fails)
P_MINUS = Policy("mine", first_fit.rule, order=lambda _: [-1, 0])
P_HALF = Policy("mine", first_fit.rule, order=lambda _: [0.5, 1])
P_TWICE = Policy("mine", first_fit.rule, order=lambda _: [1, 1])
P_MISSING = Policy("mine", first_fit.rule, order=lambda _: [1])
P_RULE = Policy("mine", fails)


def twice(job, room, parameters, chosen):
    chosen[:] = 0
    return True


P_GPU_TWICE = Policy("mine", twice)
R_FAILS = Rule("mine", "", fails)
R_NAN = Rule("mine", "", lambda *_: float("nan"))
R_NONE = Rule("mine", "", lambda *_: None)


class Backwards(Rule):
    def order(self, instance):
        return [-1, 0]


R_ORDER = Backwards("mine", "", lambda *_: 0)
B_FAILS, B_LEAVES, B_NONSENSE = (Bound("mine", prove=f) for f in (fails, leaves, lambda *_: "x"))
N_FAILS, N_LEAVES, N_NONSENSE = (
    Neighbourhood("mine", "", f) for f in (fails, leaves, lambda *_: [0, 1])
)
O_FAILS, O_LEAVES, O_NONSENSE, O_NAN = (
    Objective("mine", "", "slots", term=f)
    for f in (fails, leaves, lambda *_: 3, lambda *_: Term(weight=float("nan")))
)
O_PRICES = Objective("mine", "", "", prices=fails)
O_NO_PRICES = Objective("mine", "", "", prices=lambda _: [1])
ONLINE_FAILS, ONLINE_LEAVES, ONLINE_NONSENSE = (
    Online("mine", f) for f in (fails, leaves, lambda _: None)
)
ONLINE_ORDER = Online("mine", lambda _: Decision([0.5]))
PLACE_FAILS, PLACE_LEAVES, PLACE_NONSENSE = (
    Placement("mine", f) for f in (fails, leaves, lambda *_: {-1: 1})
)


def rule_fails(model, scope):
    model.mine = pyo.Constraint(list(scope.jobs), rule=lambda m, j: fails())


F_FAILS, F_LEAVES, F_RULE = (TIME_INDEXED.extended("mine", f) for f in (fails, leaves, rule_fails))
F_SOUND = TIME_INDEXED.extended("sound", objective=lambda m, s: sum(m.start[j] for j in s.jobs))
F_ALLOWS = TIME_INDEXED.extended("mine", allows=lambda *_: None)
F_OBJECTIVE = TIME_INDEXED.extended("mine", objective=lambda *_: None)
F_NAN = TIME_INDEXED.extended("mine", objective=lambda *_: float("nan"))
F_BUILD = replace(TIME_INDEXED, name="mine", build=lambda _: None)
F_SIZE = replace(TIME_INDEXED, name="mine", size=lambda _: float("nan"))
F_UNFIT = replace(TIME_INDEXED, name="mine", unfit=lambda _: 3)


class Solver:
    name = "mine"
    model_classes = frozenset({"integer"})

    def __init__(self, solve, version=lambda: "1"):
        self.solve, self.version = solve, version


S_FAILS, S_LEAVES, S_NONE = Solver(fails), Solver(leaves), Solver(lambda *_: None)
S_VERSION = Solver(fails, fails)
S_NUMBER = Solver(fails, lambda: 3)
S_NAN = Solver(lambda *_: Answer("finished", False, float("nan"), 0.0, ""))
S_ENDED = Solver(lambda *_: Answer("done", False, None, 0.0, ""))
"""
HERE = next(i for i, line in enumerate(PARTS.splitlines(), 1) if "HERE" in line)
THERE = next(i for i, line in enumerate(PARTS.splitlines(), 1) if "THERE" in line)
FAILED = rf"failed at failing\.py:{HERE}: JSONDecodeError: Expecting value: .*"
LEFT = rf"failed at failing\.py:{THERE}: it called exit\(0\); it must return, or raise an exception"
AT_ONCE = " at slot 0,"

METHOD = "solve F --method failing:{}"
BOUND = "solve F --method first-fit --bound failing:{}"
TURN = "solve F --objective total-completion --iterations 2 --threads 1 --neighbourhood failing:{}"
OBJECTIVE = "solve F --method shortest-first --objective failing:{}"
POLICY = "simulate F --policy failing:{}"
PLACEMENT = "simulate F --policy fifo --placement failing:{}"
MODEL = "formulate F --formulation failing:{} --output model.lp --horizon 20"
FORMULATION = "solve F --formulation failing:{} --time-limit 20"
SOLVER = "solve F --formulation failing:F_SOUND --time-limit 20 --solver failing:{}"

CASES = [
    (METHOD, "M_FAILS", f"method 'mine' {FAILED}"),
    (METHOD, "M_LEAVES", f"method 'mine' {LEFT}"),
    (METHOD, "M_PREPARE", f"method 'mine' {FAILED}"),
    (METHOD, "M_NONE", "method 'mine' returned None, and not an Attempt"),
    (METHOD, "M_SCHEDULE", "method 'mine' returned 3, and no Schedule"),
    (METHOD, "M_WORDS", "method 'mine' returned None; why it stopped, in words is expected"),
    (
        METHOD,
        "M_BOUND",
        r"method 'mine' returned LowerBound\(slots=nan.*; a LowerBound in .*",
    ),
    (
        METHOD,
        "M_HALF",
        r"method 'mine' returned .*assignments\[0\]\.start: 0\.5; a whole number .*",
    ),
    (METHOD, "P_ORDER", f"method 'mine' {FAILED}"),
    (METHOD, "P_RULE", f"method 'mine' {FAILED}"),
    (METHOD, "P_MINUS", "the order of policy 'mine' has -1; jobs are numbered 0 to 1"),
    (METHOD, "P_HALF", "the order of policy 'mine' has 0.5; whole numbers are expected"),
    (METHOD, "P_TWICE", "the order of policy 'mine' has 1, job 'b', more than once"),
    (METHOD, "P_MISSING", "the order of policy 'mine' leaves out 'a'"),
    (METHOD, "P_GPU_TWICE", "the placement rule 'twice' chose GPUs that are not available, or .*"),
    (METHOD, "R_FAILS", f"method 'mine' {FAILED}"),
    (METHOD, "R_NAN", "method 'mine' returned nan; a number by which jobs are sorted is expected"),
    (METHOD, "R_NONE", "method 'mine' returned None; a number by which jobs are sorted is expec.*"),
    (METHOD, "R_ORDER", "the order of method 'mine' has -1; jobs are numbered 0 to 1"),
    (METHOD, "NO_SUCH", "method 'failing:NO_SUCH' cannot be imported: module 'failing' has no .*"),
    (BOUND, "B_FAILS", f"bound 'mine' {FAILED}"),
    (BOUND, "B_LEAVES", f"bound 'mine' {LEFT}"),
    (BOUND, "B_NONSENSE", "bound 'mine' returned 'x'; a whole number, a fraction or None is .*"),
    (TURN, "N_FAILS", f"neighbourhood 'mine' {FAILED}"),
    (TURN, "N_LEAVES", f"neighbourhood 'mine' {LEFT}"),
    (TURN, "N_NONSENSE", r"neighbourhood 'mine' returned \[0, 1\], and no Schedule"),
    (OBJECTIVE, "O_FAILS", f"objective 'mine' {FAILED}"),
    (OBJECTIVE, "O_LEAVES", f"objective 'mine' {LEFT}"),
    (OBJECTIVE, "O_PRICES", f"objective 'mine' {FAILED}"),
    (OBJECTIVE, "O_NONSENSE", "objective 'mine' returned 3; a Term of whole numbers, .*"),
    (OBJECTIVE, "O_NAN", r"objective 'mine' returned Term\(weight=nan.*; a Term of whole .*"),
    (OBJECTIVE, "O_NO_PRICES", r"objective 'mine' returned \[1\]; a list of 2 fractions, one .*"),
    (POLICY, "ONLINE_FAILS", f"policy 'mine' {FAILED.replace(' at', AT_ONCE + ' at', 1)}"),
    (POLICY, "ONLINE_LEAVES", f"policy 'mine' {LEFT.replace(' at', AT_ONCE + ' at', 1)}"),
    (POLICY, "ONLINE_NONSENSE", "policy 'mine' returned None, and not a Decision"),
    (POLICY, "ONLINE_ORDER", "the order of policy 'mine' has 0.5; whole numbers are expected"),
    (PLACEMENT, "PLACE_FAILS", f"placement 'mine' {FAILED.replace(' at', AT_ONCE + ' at', 1)}"),
    (PLACEMENT, "PLACE_LEAVES", f"placement 'mine' {LEFT.replace(' at', AT_ONCE + ' at', 1)}"),
    (PLACEMENT, "PLACE_NONSENSE", "placement 'mine' returned {-1: 1} as a place; whole numbers .*"),
    (MODEL, "F_FAILS", f"formulation 'mine' {FAILED}"),
    (MODEL, "F_LEAVES", f"formulation 'mine' {LEFT}"),
    (MODEL, "F_RULE", f"formulation 'mine' {FAILED}"),
    (
        MODEL,
        "F_ALLOWS",
        r"a rule for placements \(allows\) returned None; True or False .*",
    ),
    (MODEL, "F_OBJECTIVE", "formulation 'mine': its objective is None; an expression is expected"),
    (MODEL, "F_NAN", "formulation 'mine': its objective is nan; an expression is expected"),
    (MODEL, "F_BUILD", "formulation 'mine' returned None from build; a Pyomo model is expected"),
    (MODEL, "F_SIZE", "formulation 'mine' returned nan from size; a number of terms is expected"),
    (FORMULATION, "F_FAILS", f"formulation 'mine' {FAILED}"),
    (FORMULATION, "F_LEAVES", f"formulation 'mine' {LEFT}"),
    (FORMULATION, "F_UNFIT", "formulation 'mine' returned 3 from unfit; a reason in words, or N.*"),
    (SOLVER, "S_FAILS", f"solver 'mine' {FAILED}"),
    (SOLVER, "S_LEAVES", f"solver 'mine' {LEFT}"),
    (SOLVER, "S_VERSION", f"solver 'mine' {FAILED}"),
    (SOLVER, "S_NUMBER", "solver 'mine' returned 3; a version, or None is expected"),
    (SOLVER, "S_NONE", "solver 'mine' returned None; an Answer with a termination .*"),
    (SOLVER, "S_NAN", r"solver 'mine' returned Answer\(.*; an Answer with a termination .*"),
    (SOLVER, "S_ENDED", r"solver 'mine' returned Answer\(.*; an Answer with a termination .*"),
]


@pytest.fixture
def folder(tmp_path: Path, instance_file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "failing.py").write_text(PARTS, encoding="utf-8")
    instance_file.rename("F")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.delitem(sys.modules, "failing", raising=False)
    return tmp_path


@pytest.mark.usefixtures("folder", "idle_search")
@pytest.mark.parametrize(("command", "part", "line"), [c for c in CASES if c[0] != TURN])
def test_a_part_that_fails_is_one_line(invoke: Invoke, command: str, part: str, line: str) -> None:
    outcome = invoke(*command.format(part).split())
    assert (outcome.code, outcome.out) == (2, "")
    assert len(outcome.lines) == 1, outcome.err
    assert re.fullmatch(line, outcome.lines[0]), outcome.lines[0]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("command", "part", "line"), [c for c in CASES if c[0] == TURN])
def test_a_neighbourhood_that_fails_is_one_line(
    invoke: Invoke, command: str, part: str, line: str
) -> None:
    outcome = invoke(*command.format(part).split())
    assert (outcome.code, outcome.out) == (2, "")
    assert len(outcome.lines) == 1, outcome.err
    assert re.fullmatch(line, outcome.lines[0]), outcome.lines[0]


@pytest.mark.usefixtures("folder")
def test_python_gets_the_cause_with_its_traceback() -> None:
    with pytest.raises(PartError, match=f"method 'mine' {FAILED}") as caught:
        solving.solve("F", method="failing:M_FAILS")
    cause = caught.value.__cause__
    assert type(cause).__name__ == "JSONDecodeError"
    assert cause is not None
    assert cause.__traceback__ is not None


@pytest.mark.usefixtures("folder")
def test_a_failing_part_is_a_problem_of_a_campaign(invoke: Invoke, folder: Path) -> None:
    (folder / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    (folder / "campaign.yaml").write_text(
        "name: x\ninstances: [F]\nmethods: [broken:X]\n", encoding="utf-8"
    )
    outcome = invoke("campaign", "run", "campaign.yaml", "--output", "made")
    assert outcome.code == 2
    (line,) = outcome.lines
    assert "cannot be imported: broken.py:1: ZeroDivisionError: division by zero" in line
