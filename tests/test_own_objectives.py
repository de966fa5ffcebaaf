"""Objectives of users: by import path for a solve, by installed name in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from documents import instance_data, job_data

from rarmodel import load_instance, solve
from rarmodel.errors import InputError, UsageError
from rarmodel.files import parse_instance, to_json
from rarmodel.model import objectives
from rarmodel.model.objectives import Objective, Term

TWICE = Objective("twice", "twice the makespan", "slots", greatest=True, term=lambda *_: Term(2))
PATH = "rarmodel.model.objectives:TWICE"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objectives, "TWICE", TWICE, raising=False)
    objectives.objective.cache_clear()


@pytest.mark.parametrize("how", [{"iterations": 5}, {"formulation": "time-indexed"}])
def test_an_objective_by_import_path_is_minimised_and_proven(how: dict[str, object]) -> None:
    result = solve("two-servers", objective=PATH, **how)  # type: ignore[arg-type]
    goal = result.objective[0]
    assert (goal.name, goal.value, goal.bound, result.status) == ("twice", 24, 24, "optimal")
    assert result.report is not None
    assert result.report.objective == {"twice": 24}


def test_files_name_installed_objectives_only(tmp_path: Path) -> None:
    """Whoever reads a file does not run code that it names."""
    data = instance_data(job_data("a")) | {"objective": ["makespan", PATH]}
    with pytest.raises(InputError) as caught:
        parse_instance(data)
    assert [problem.place for problem in caught.value.problems] == ["objective[1]"]
    assert f"no objective {PATH!r}; choose one of cost" in caught.value.problems[0].message
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')", encoding="utf-8")
    plain = load_instance("two-servers")
    file = tmp_path / "instance.json"
    changed = json.loads(to_json(plain)) | {"objective": "evil:X"}
    file.write_text(json.dumps(changed), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        with pytest.raises(InputError, match="no objective 'evil:X'"):
            load_instance(file)


def test_an_exception_is_one_line_that_names_the_objective(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = Objective("broken", "", "", term=lambda *_: 1 // 0)  # type: ignore[arg-type]
    monkeypatch.setattr(objectives, "TWICE", broken)
    with pytest.raises(
        UsageError, match=r"^objective 'broken' failed at \S+\.py:\d+: ZeroDivision"
    ):
        solve("two-servers", objective=PATH, iterations=1)
