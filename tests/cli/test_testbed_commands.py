"""`rarmodel testbed`, without a network; tests/testbed/test_real.py has one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rarmodel import testbed
from rarmodel.errors import RarmodelError, UsageError
from rarmodel.testbed import Plan, Timing, network

if TYPE_CHECKING:
    from invocation import Invoke

PLAN = "runs:\n  - {name: alone, rings: [{servers: [0, 1], gradient_mb: 1, compute_ms: 5}]}\n"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Measuring that takes no time and needs no network; the options that it was given."""
    found: list[dict[str, Any]] = []

    def measure(plan: Plan, **options: Any) -> Iterator[list[Timing]]:
        options.pop("progress")("run 1")
        found.append({"runs": [run.name for run in plan.runs], **options})
        for run in plan.runs:
            if run.name == "failing":
                raise RarmodelError("a ring has failed: why")
            yield [Timing(run, number, 7, 95.5, 90.25) for number in range(len(run.rings))]

    monkeypatch.setattr(testbed, "measure", measure)
    return found


def test_run_writes_a_table_and_shows_it(
    invoke: Invoke, tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    plan, table = tmp_path / "plan.yaml", tmp_path / "table.csv"
    plan.write_text(PLAN, encoding="utf-8")
    outcome = invoke("testbed", "run", plan, "--output", table, "--mbit", 50)
    assert (outcome.code, outcome.err) == (0, "run 1\n")
    assert " ".join(outcome.out.splitlines()[-1].split()) == "alone job 1 0 1 1 5 7 95.5 90.2"
    assert table.read_text(encoding="utf-8").splitlines() == [
        "run,job,links,gpus,servers,concurrent_jobs,gradient_mb,compute_ms,iteration_ms,part",
        "alone,job 1,s0 s1,2,2,1,1.0,5.0,95.5,",
    ]
    assert asked == [
        {"runs": ["alone"], "servers": None, "mbit": 50, "buffer_ms": None, "seconds": 5}
    ]


def test_runs_before_one_that_fails_are_kept(
    invoke: Invoke, tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    plan, table = tmp_path / "plan.yaml", tmp_path / "table.csv"
    failing = PLAN.replace("alone", "failing").removeprefix("runs:\n")
    plan.write_text(PLAN + failing, encoding="utf-8")
    outcome = invoke("testbed", "run", plan, "--output", table)
    assert (outcome.code, outcome.lines[-1]) == (1, "a ring has failed: why")
    assert len(table.read_text(encoding="utf-8").splitlines()) == 2


def test_measure_has_the_standard_plan(
    invoke: Invoke, tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    table = tmp_path / "table.csv"
    assert invoke("testbed", "measure", "--mixes", 2, "--seed", 7, "--output", table).code == 0
    assert asked[0]["runs"] == [run.name for run in testbed.standard_plan(2, 7).runs]
    assert asked[0]["runs"][-2:] == ["mix 7-0", "mix 7-1"]


def test_a_table_that_cannot_be_written_is_refused_first(
    invoke: Invoke, tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    outcome = invoke("testbed", "measure", "--output", tmp_path / "nowhere" / "table.csv")
    assert outcome.code == 2
    assert not asked


@pytest.mark.parametrize("words", [["up"], ["down"], ["measure", "--output", "table.csv"]])
def test_users_without_root_are_told(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    def refuse() -> None:
        raise UsageError("the testbed needs root, to make network namespaces; use sudo")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(network, "check_possible", refuse)
    monkeypatch.setattr(testbed, "check_possible", refuse)
    outcome = invoke("testbed", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.lines == ["the testbed needs root, to make network namespaces; use sudo"]


def test_up_and_down_say_what_they_did(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["rarmodel-testbed-0", "rarmodel-testbed-switch"]
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(testbed, "check_possible", lambda: None)
    monkeypatch.setattr(testbed, "up_star", lambda **options: asked.append(options))
    monkeypatch.setattr(testbed, "existing", lambda: names)
    monkeypatch.setattr(testbed, "down", lambda: names[: len(asked)])
    assert invoke("testbed", "down").out == "no testbed is up\n"
    assert invoke("testbed", "up", "--servers", 3).out == f"{' '.join(names)}\n"
    assert asked == [{"servers": 3}]
    assert invoke("testbed", "down").out == "removed: rarmodel-testbed-0\n"
