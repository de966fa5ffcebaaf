"""What-if: one question, one command; its answers are those of separate runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

import rarmodel
from rarmodel import InputError, Instance, UsageError
from rarmodel.changes import changed, parse_alternatives
from rarmodel.online.policies.priorities import FIFO
from rarmodel.online.policy import Decision
from rarmodel.online.state import State

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
ARRIVALS, LAB = EXAMPLES / "arrivals.json", EXAMPLES / "lab.json"


def by_hand(path: Path, **fields: Any) -> dict[str, Any]:
    """The file with other fields of its cluster."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    data["cluster"] |= fields
    return data


SERVER = {"name": "new-1", "gpus": 4}
QUESTIONS: dict[str, dict[str, Any]] = {
    "servers=+1": {
        "servers": [*by_hand(ARRIVALS)["cluster"]["servers"], SERVER],
    },
    "network-gbps=40": {"network": {"kind": "star", "gbps": 40.0}},
    "policy=srtf": {},
    "reserve=ada:2@0..20": {
        "reservations": [{"server": "ada", "gpus": 2, "from": 0, "to": 20}],
    },
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_of_separate_simulations(question: str) -> None:
    found = rarmodel.what_if(ARRIVALS, question)
    assert found.verified
    assert found.by == "policy fifo-backfill, placement consolidate"
    for trial, fields, policy in zip(
        found.trials,
        ({}, QUESTIONS[question]),
        ("fifo-backfill", question.removeprefix("policy=") if "policy" in question else None),
        strict=True,
    ):
        apart = rarmodel.simulate(by_hand(ARRIVALS, **fields), policy or "fifo-backfill")
        values = {figure.name: value for figure, value in trial.figures.items()}
        metrics = apart.metrics
        assert values == {
            "makespan": metrics.makespan,
            "mean_flow": metrics.mean_flow,
            "p95_flow": metrics.p95_flow,
            "mean_queueing": metrics.mean_queueing,
            "utilisation": metrics.utilisation,
            "late_jobs": metrics.late_jobs,
            "preemptions": apart.preemptions,
        }
        assert trial.outcome.schedule == apart.schedule


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("servers=+1", {"servers": [*by_hand(LAB)["cluster"]["servers"], SERVER]}),
        ("network=x0.5", {"network": {"kind": "star", "gbps": 5.0}}),
    ],
)
def test_answers_are_those_of_separate_solves(question: str, fields: dict[str, Any]) -> None:
    found = rarmodel.what_if(LAB, question, method="sjf-bco")
    assert found.by == "method sjf-bco"
    for trial, changes in zip(found.trials, ({}, fields), strict=True):
        apart = rarmodel.solve(by_hand(LAB, **changes), method="sjf-bco")
        values = {figure.name: value for figure, value in trial.figures.items()}
        assert values["makespan"] == apart.makespan
        assert values["bound"] == apart.objective[0].bound
        assert apart.report is not None
        assert apart.report.flow_times is not None
        assert values["mean_flow"] == apart.report.flow_times.mean
        assert trial.outcome.schedule == apart.schedule


@pytest.mark.parametrize("seed", range(4))
def test_more_servers_never_raise_what_is_proven_optimal(seed: int) -> None:
    instance = rarmodel.generate("small", seed=seed, jobs=5)
    like = instance.cluster.servers[0].name
    found = rarmodel.what_if(instance, f"servers=+2:{like}", iterations=30, threads=1, seed=seed)
    before, after = found.trials
    assert before.outcome.status == after.outcome.status == "optimal"  # type: ignore[union-attr]
    (bound,) = [figure for figure in found.figures if figure.name == "bound"]
    less = after.figures[bound]
    most = before.figures[bound]
    assert less is not None
    assert most is not None
    assert less <= most


@pytest.mark.parametrize("text", ["network-gbps=100", "gpu-speed=x2", "network=x3"])
def test_rates_change_and_the_work_does_not(text: str) -> None:
    instance = rarmodel.load_instance(ARRIVALS)
    (alternative,), _ = parse_alternatives([text])
    after = changed(instance, alternative)
    assert [job.iterations for job in after.jobs] == [job.iterations for job in instance.jobs]


def test_differences_come_with_their_spread_over_draws(tmp_path: Path) -> None:
    for seed in range(3):
        drawn = rarmodel.generate("small", seed=seed, jobs=6)
        (tmp_path / f"{seed}.json").write_text(rarmodel.to_json(drawn), encoding="utf-8")
    found = rarmodel.what_if(tmp_path, "network=x0.25", method="sjf-bco")
    same = rarmodel.what_if("small", "network=x0.25", method="first-fit", seeds=3, seed=7)
    assert [draw.seed for draw in same.draws] == [7, 8, 9]
    assert len({draw.instance for draw in same.draws}) == 3
    (makespan,) = [figure for figure in found.figures if figure.name == "makespan"]
    before, after = found.values(0, makespan), found.values(1, makespan)
    apart = [after[draw] - before[draw] for draw in range(3)]
    effect = found.effect(1, makespan)
    assert (effect.difference, effect.spread) == (fmean(apart), stdev(apart))
    assert effect.mean == fmean(after.values())
    assert found.effect(0, makespan).difference is None
    assert " ± " in found.table()[1]["makespan"]


def test_who_answers() -> None:
    assert rarmodel.what_if(LAB, "policy=fifo").by.startswith("policy fifo-backfill")
    assert rarmodel.what_if(LAB, "servers=+1", placement="first-fit").by.endswith("first-fit")
    assert rarmodel.what_if(LAB, "method=first-fit", time_limit=0).by == "method search"
    arriving = rarmodel.generate("small", jobs=4, features=["releases:within=0.5"])
    assert rarmodel.what_if(arriving, "network=x2").by.startswith("policy")
    solved = rarmodel.what_if(arriving, "network=x2", method="fifo-backfill")
    assert solved.by == "method fifo-backfill"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": "fifo", "method": "search"}, "policies and placements are simulated, and"),
        ({"time_limit": 3}, "time limit: for solves, and alternatives are simulated, as jobs"),
        ({"seeds": 0}, "seeds 0: it must be a whole number of at least 1"),
    ],
)
def test_options_that_exclude_each_other(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        rarmodel.what_if(ARRIVALS, "servers=+1", **options)
    assert str(refused.value).startswith(said)


def test_every_problem_is_told_before_anything_runs() -> None:
    with pytest.raises(InputError) as refused:
        rarmodel.what_if(ARRIVALS, ["down=x,foo=1", "network=5", "tenant.t=4"])
    lines = refused.value.lines()
    assert len(lines) == 4
    assert lines[0].startswith("change 'down=x,foo=1': no change foo")


def test_what_a_policy_does_not_take_is_told_before_anything_runs() -> None:
    with pytest.raises(InputError, match=r"change 'preemption=none,reserve=.*' *: simulate does"):
        rarmodel.what_if(ARRIVALS, "preemption=none,reserve=ada:1@3..5")


def test_an_interrupted_question_has_what_is_complete() -> None:
    asked = count()

    def stop_at_last(state: State) -> Decision:
        if next(asked) > 20:
            raise KeyboardInterrupt
        return FIFO.decide(state)

    mine = replace(FIFO, name="mine", decide=stop_at_last)
    found = rarmodel.what_if(ARRIVALS, ["network=x2", "servers=+1"], policy=mine)
    assert not found.complete
    assert not found.verified
    assert 0 < len(found.trials) < 3
    assert len(found.table()) == 3
    assert found.table()[2]["makespan"] == "-"


def drawn_marks(chart: Any) -> Iterator[dict[str, Any]]:
    for line in chart.to_dict()["vconcat"]:
        yield from line["hconcat"]


def test_the_chart_has_a_panel_for_each_figure() -> None:
    found = rarmodel.what_if(ARRIVALS, ["network=x2", "servers=+1"], seeds=2)
    titles = [panel["title"] for panel in drawn_marks(found.plot())]
    assert titles[:2] == ["makespan, slots", "mean flow, slots"]
    assert len(titles) == len(found.figures)
    page = found.page()
    assert "network=x2" in page
    assert "<script" in page


def test_running_jobs_that_wait_are_noted() -> None:
    data = json.loads(LAB.read_text(encoding="utf-8"))
    first = data["jobs"][0]
    first |= {"running": {"gpus": {"ada": list(range(first["gpus"]))}, "iterations_done": 1}}
    instance = Instance.model_validate(data)
    found = rarmodel.what_if(instance, "down=ada", method="fifo-backfill")
    assert found.trials[1].notes == (
        f"jobs '{first['name']}' wait at slot 0, from their last checkpoint on",
    )
