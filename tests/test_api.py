"""Solve, verify and compare from Python."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents import (
    assignment_data,
    instance_data,
    instance_of,
    job_data,
    schedule_data,
    schedule_of,
)

import rarmodel
from rarmodel import InputError, Instance, Limits, Schedule, UsageError, VerificationError
from rarmodel.files import parse_schedule, to_json
from rarmodel.methods import Attempt


class Fixed:
    """A method that always gives one schedule, and keeps the limits it was given."""

    def __init__(self, schedule: Schedule | None, name: str = "fixed") -> None:
        self.schedule = schedule
        self.name = name
        self.calls: list[Limits] = []

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        self.calls.append(limits)
        return Attempt(self.schedule, "as told")


SLOW = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 5, s1=[0]))
TIGHT = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0]))


@pytest.fixture
def instance_file(tmp_path: Path) -> Path:
    """A file with the small instance."""
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(instance_data()), encoding="utf-8")
    return path


# Instances


def test_instance_comes_from_a_path_a_text_or_itself(instance_file: Path) -> None:
    instance = instance_of()
    assert rarmodel.load_instance(instance_file) == instance
    assert rarmodel.load_instance(str(instance_file)) == instance
    assert rarmodel.load_instance(instance) is instance


def test_instance_comes_from_those_bundled() -> None:
    assert rarmodel.load_instance("two-servers").name == "two-servers"


def test_file_comes_before_a_bundled_instance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two-servers").write_text(json.dumps(instance_data()), encoding="utf-8")
    assert rarmodel.load_instance("two-servers").name == "example"


def test_path_object_is_never_a_bundled_name() -> None:
    with pytest.raises(InputError, match="two-servers: cannot be read: no such file"):
        rarmodel.load_instance(Path("two-servers"))


def test_unknown_name_is_an_input_error_that_says_who_lists_the_bundled_ones() -> None:
    with pytest.raises(
        InputError,
        match=r"^nope: neither a file nor a bundled instance; `rarmodel instances` lists these$",
    ):
        rarmodel.load_instance("nope")
    with pytest.raises(InputError, match=r"nope\.json: cannot be read: no such file"):
        rarmodel.load_instance("nope.json")


def test_bundled_instances_are_rows() -> None:
    rows = rarmodel.list_instances()
    assert any(row["name"] == "two-servers" for row in rows)
    for row in rows:
        instance = rarmodel.load_instance(row["name"])
        assert instance.name == row["name"]
        assert row["jobs"] == len(instance.jobs)
        assert row["gpus"] == instance.cluster.total_gpus
        assert row["horizon"] == instance.time.horizon


# Solving


def test_solve_searches_unless_asked_otherwise() -> None:
    result = rarmodel.solve(instance_of())
    assert result.method == result.name == "search"
    assert result.makespan == 2
    assert result.schedule is not None
    assert rarmodel.verify(instance_of(), result.schedule).makespan == 2


def test_method_is_a_name_an_import_path_or_an_object() -> None:
    by_name = rarmodel.solve(instance_of(), method="first-fit")
    by_path = rarmodel.solve(instance_of(), method="rarmodel.heuristics.policies:first_fit")
    assert by_name.schedule == by_path.schedule
    assert rarmodel.solve(instance_of(), method=Fixed(SLOW)).makespan == 6


def test_formulation_is_solved_and_verified() -> None:
    result = rarmodel.solve(
        instance_of(), formulation="time-indexed", solver="highs", model_only=True
    )
    assert (result.formulation, result.solver, result.method) == ("time-indexed", "highs", None)
    assert result.status == "optimal"
    assert result.makespan == result.lower_bound == 2


def test_status_is_optimal_iff_the_bound_is_met() -> None:
    slow = rarmodel.solve(instance_of(), method=Fixed(SLOW))
    assert (slow.status, slow.makespan, slow.lower_bound) == ("feasible", 6, 2)
    assert slow.stopped == "as told"
    assert slow.gap == pytest.approx(4 / 6)
    tight = rarmodel.solve(instance_of(), method=Fixed(TIGHT))
    assert (tight.status, tight.gap) == ("optimal", 0.0)


def test_no_schedule_found_is_unknown_and_not_infeasible() -> None:
    result = rarmodel.solve(instance_of(), method=Fixed(None))
    assert result.status == "unknown"
    assert result.schedule is None
    assert result.report is None
    assert result.makespan is None
    assert result.gap is None
    assert result.lower_bound == 2


def test_horizon_below_the_bound_is_infeasible_without_a_search() -> None:
    method = Fixed(TIGHT)
    result = rarmodel.solve(instance_of(horizon=1), method=method)
    assert result.status == "infeasible"
    assert method.calls == []
    assert result.stopped == "the lower bound exceeds the horizon"


def test_schedule_that_breaks_a_constraint_is_never_returned() -> None:
    wrong = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s0=[0]))
    with pytest.raises(VerificationError, match="job 'b' takes GPU 0 of server 's0' at slot 0"):
        rarmodel.solve(instance_of(), method=Fixed(wrong))


def test_schedule_past_the_horizon_is_never_returned() -> None:
    with pytest.raises(VerificationError, match="past the horizon 5"):
        rarmodel.solve(instance_of(horizon=5), method=Fixed(SLOW))


def test_limits_reach_the_method() -> None:
    method = Fixed(TIGHT)
    rarmodel.solve(instance_of(), method=method, time_limit=3.0, gap=0.1, threads=2, seed=9)
    (given,) = method.calls
    assert given.time_limit is not None
    assert 1.5 <= given.time_limit <= 3.0  # Bounds have taken some of it.
    assert given.progress is not None  # The log of the result listens.
    assert replace(given, time_limit=3.0, progress=None) == Limits(3.0, 0.1, 2, 9, None, None)


def test_interrupted_method_gives_a_result() -> None:
    class Interrupted(Fixed):
        def __call__(self, instance: Instance, limits: Limits) -> Attempt:
            raise KeyboardInterrupt

    result = rarmodel.solve(instance_of(), method=Interrupted(None))
    assert (result.status, result.stopped) == ("unknown", "interrupted")


def test_method_and_formulation_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        rarmodel.solve(instance_of(), method="sjf-bco", formulation="time-indexed")


def test_solver_without_formulation_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="a solver needs a formulation"):
        rarmodel.solve(instance_of(), solver="highs")


@pytest.mark.parametrize("part", ["nope", "json:dumps", 3])
def test_what_is_no_method_is_a_usage_error(part: Any) -> None:
    with pytest.raises(UsageError):
        rarmodel.solve(instance_of(), method=part)


def test_malformed_instance_is_an_input_error_with_all_problems(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        rarmodel.solve(path)
    assert len(refused.value.problems) == 6


# Verifying


def test_verify_takes_files_and_objects(instance_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(to_json(SLOW), encoding="utf-8")
    report = rarmodel.verify(instance_file, path)
    assert report.feasible
    assert report.makespan == 6
    assert rarmodel.verify(str(instance_file), str(path)) == report
    assert rarmodel.verify(instance_of(), SLOW) == report


def test_wrong_schedule_gives_violations_and_malformed_one_raises(tmp_path: Path) -> None:
    wrong = parse_schedule({**schedule_data(), "assignments": []})
    assert len(rarmodel.verify(instance_of(), wrong).violations) == 2
    path = tmp_path / "s.json"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(InputError):
        rarmodel.verify(instance_of(), path)


# Comparing


def test_comparison_has_results_in_order_and_common_bounds() -> None:
    slow, tight = Fixed(SLOW, "slow"), Fixed(TIGHT, "tight")
    (comparison,) = rarmodel.compare(instance_of(), methods=[slow, tight])
    assert comparison.instance == "example"
    assert [result.name for result in comparison.results] == ["slow", "tight"]
    assert comparison.best_makespan == comparison.best_bound == 2
    first, second = comparison.rows()
    assert (first["ratio"], second["ratio"]) == (3.0, 1.0)
    assert first["gap"] == pytest.approx(4 / 6)
    assert (first["status"], second["status"]) == ("feasible", "optimal")


def test_comparison_is_plain_json_data() -> None:
    (comparison,) = rarmodel.compare(instance_of(), methods=[Fixed(SLOW), Fixed(None, "none")])
    rows = comparison.rows()
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert rows[1]["makespan"] is rows[1]["ratio"] is rows[1]["gap"] is None


def test_comparison_of_failures_has_no_best() -> None:
    (comparison,) = rarmodel.compare(instance_of(), methods=[Fixed(None)])
    assert comparison.best_makespan is None
    assert comparison.best_bound == 2


def test_comparison_takes_one_instance_or_several(instance_file: Path) -> None:
    method = Fixed(TIGHT)
    assert len(rarmodel.compare(instance_file, methods=[method])) == 1
    assert len(rarmodel.compare([instance_file, instance_of()], methods=[method])) == 2
    other = instance_of(job_data("a", gpus=2), job_data("b"), horizon=9)
    assert len(rarmodel.compare((i for i in (other, instance_of())), methods=[method])) == 2


def test_bound_of_one_proves_another_optimal() -> None:
    # Seven jobs of 3 slots on 3 GPUs: the area bound is 7 slots, and 9 the optimum.
    jobs = [job_data(name, iterations=30) for name in "abcdefg"]
    (comparison,) = rarmodel.compare(
        instance_of(*jobs, servers=(3,)), methods=["sjf-bco"], formulations=["time-indexed"]
    )
    method, formulation = comparison.rows()
    assert comparison.results[0].lower_bound == 7
    assert formulation["lower_bound"] == 9
    assert method["makespan"] == formulation["makespan"] == 9
    assert method["status"] == formulation["status"] == "optimal"
    assert method["gap"] == 0.0


def test_each_solve_is_told_before_it_begins() -> None:
    told: list[tuple[str, str, int, int]] = []
    rarmodel.compare(
        instance_of(),
        methods=[Fixed(SLOW, "slow"), Fixed(TIGHT, "tight")],
        each=lambda instance, *part: told.append((instance.name, *part)),
    )
    assert told == [("example", "slow", 1, 2), ("example", "tight", 2, 2)]


def test_interrupted_comparison_gives_what_there_is() -> None:
    class Interrupted(Fixed):
        def __call__(self, instance: Instance, limits: Limits) -> Attempt:
            raise KeyboardInterrupt

    done, never = Fixed(TIGHT, "done"), Fixed(TIGHT, "never")
    comparisons = rarmodel.compare(
        [instance_of(), instance_of()], methods=[done, Interrupted(None, "interrupted"), never]
    )
    (comparison,) = comparisons
    assert [result.name for result in comparison.results] == ["done", "interrupted"]
    assert never.calls == []


def test_unknown_part_is_a_usage_error_before_anything_is_solved() -> None:
    method = Fixed(TIGHT)
    with pytest.raises(UsageError):
        rarmodel.compare(instance_of(), methods=[method, "nope"])
    assert method.calls == []


def test_a_comparison_without_formulations_takes_no_solver() -> None:
    with pytest.raises(UsageError, match="a solver and data need a formulation"):
        rarmodel.compare(instance_of(), methods=["first-fit"], solvers=["highs"])


def test_a_method_that_returns_no_attempt_is_a_usage_error() -> None:
    class Careless(Fixed):
        def __call__(self, instance: Instance, limits: Limits) -> Any:
            return self.schedule

    with pytest.raises(UsageError, match=r"method 'fixed' returned .*, and not an Attempt"):
        rarmodel.solve(instance_of(), method=Careless(TIGHT))


def test_an_instance_made_in_python_is_checked_like_a_file() -> None:
    instance = instance_of()
    short = instance.time.model_copy(update={"slot_seconds": 1e-9})
    with pytest.raises(InputError, match="slot too short"):
        rarmodel.verify(instance.model_copy(update={"time": short}), TIGHT)


@pytest.mark.parametrize("path", ["x" * 5000, "nul\0byte.json"])
def test_a_path_that_cannot_be_is_an_input_error(path: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        rarmodel.load_instance(path)


def test_compare_with_nothing_asked_leaves_out_what_nothing_installed_solves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rarmodel.solvers.gurobi import GUROBI
    from rarmodel.solvers.scip import SCIP

    for solver in (SCIP, GUROBI):
        monkeypatch.setattr(type(solver), "version", lambda _: None)
    (comparison,) = rarmodel.compare(instance_of(), time_limit=30)
    formulations = {result.formulation for result in comparison.results}
    assert "time-indexed" in formulations
    assert "rar-ddls" not in formulations
    with pytest.raises(UsageError, match="no installed solver solves nonlinear models"):
        rarmodel.compare(instance_of(), formulations=["rar-ddls"])
