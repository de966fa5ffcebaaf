"""Every command on instances that use each feature alone: it works, or a line names the field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from measurements import contention, table_of
from serving_instances import demand, service
from wide_instances import OBJECTIVES, WIDE, random_wide

from rarmodel import registry
from rarmodel.api.solving import solve_by_method
from rarmodel.cli.commands import rarmodel
from rarmodel.files import to_json
from rarmodel.limits import Limits
from rarmodel.methods import constructive_methods
from rarmodel.model import used
from rarmodel.model.features import (
    CARDS,
    DUTY,
    LATENCY,
    LEVELS,
    NETWORK_PRESSURES,
    OVERLAP,
    PREEMPTION,
    SERVICES,
)
from rarmodel.schema import Instance, Service
from rarmodel.schema.instance import Preemption

if TYPE_CHECKING:
    from invocation import Invoke

NEEDED = {"plot": "altair", "report": "altair"}
"""Extras that commands need."""
MEASURED = table_of(contention(0.8, 0.3, 5.0), [(2, 1, 1), (2, 2, 1), (4, 2, 2), (8, 8, 8)])
RATES = ("--network-gbps", 10, "--intra-server-gbps", 100, "--reduction-gbps", 400)

HANDLING: dict[str, Sequence[object]] = {
    "describe": ["describe", "I", "--jobs"],
    "describe --json": ["describe", "I", "--json", "--jobs"],
    "solve": ["solve", "I", "--iterations", 1],
    "solve, objective": ["solve", "I", "--iterations", 1, "--objective", "late-jobs,cost"],
    "solve by a rule": ["solve", "I", "--method", "fifo-backfill", "--json"],
    "solve exactly": ["solve", "I", "--formulation", "time-indexed", "--time-limit", 20],
    "verify": ["verify", "I", "S"],
    "verify --json": ["verify", "I", "S", "--json"],
    "compare": ["compare", "I", "--time-limit", 0.1],
    "compare, objective": ["compare", "I", "--objective", "total-flow", "--time-limit", 0.1],
    "formulate": ["formulate", "I", "--formulation", "time-indexed", "--output", "model.lp"],
    "slurm plan": ["slurm", "plan", "I", "--iterations", 1],
    "plot": ["plot", "I", "S", "--output", "plot.svg"],
    "report": ["report", "I", "S", "--output", "report.html"],
    "calibrate": ["calibrate", "measured.csv", "--instance", "I", *RATES],
}
"""What works on every instance without preemption: I is the instance, S a schedule of it."""

REFUSING: dict[str, Sequence[object]] = {
    "solve by a policy": ["solve", "I", "--method", "first-fit"],
    "solve by another formulation": ["solve", "I", "--formulation", "busy-time"],
    "audit": ["audit", "I"],
    "formulate another": ["formulate", "I", "--formulation", "busy-time", "--output", "model.lp"],
}
"""What is for the paper's problem only."""

SPEEDS = {DUTY.name, LATENCY.name, OVERLAP.name, NETWORK_PRESSURES.name}
"""Features that change nothing but how fast rings are on the links that they use."""
TAKEN: dict[str, set[str]] = {
    "solve by a policy": {*SPEEDS, CARDS.name},
    "solve by another formulation": {*SPEEDS, CARDS.name},
    "audit": set(),
    "formulate another": {*SPEEDS, CARDS.name},
}
"""What these handle beside the paper's problem."""

OTHERS = {
    *("campaign", "check", "generate", "import", "instances", "list", "schema", "simulate"),
    *("kubernetes", "testbed", "what-if", "frontier", "import-requests"),
}
"""Commands that take no instance, or have tests elsewhere; campaigns have one below."""


@cache
def plain() -> Instance:
    drawn = (random_wide(Random(seed), [], jobs=3) for seed in range(1000))
    return next(one for one in drawn if one.cluster.network.kind == "star")


@cache
def wide(name: str) -> Instance:
    """An instance of three jobs that uses one feature, or has an objective."""
    if name == PREEMPTION.name:
        return plain().model_copy(update={"preemption": Preemption(restore_seconds=1.0)})
    if name == SERVICES.name:
        served = service("chat", demand(1, 3, 40.0))
        return plain().model_copy(update={"services": (Service.model_validate(served),)})
    if name in OBJECTIVES:
        return plain().model_copy(update={"objective": name})
    drawn = (random_wide(Random(seed), [name], jobs=3, most_slots=3) for seed in range(1000))
    names = {name, DUTY.name} if name == NETWORK_PRESSURES.name else {name}
    return next(
        one
        for one in drawn
        if used(one).keys() == names
        and one.cluster.network.kind == ("tree" if name == LEVELS.name else "star")
        and solved(one)
    )


def solved(instance: Instance) -> str | None:
    """A schedule in JSON, by the first rule that makes one."""
    of = instance.model_copy(update={"preemption": None})
    if of.services:  # They are decided before the method has its turn.
        found = solve_by_method(of, registry.find("methods", "fifo-backfill"), Limits()).schedule
        return None if found is None else to_json(found)
    fifo = next(method for method in constructive_methods() if method.name == "fifo-backfill")
    schedule = fifo(of, Limits()).schedule
    return None if schedule is None else to_json(schedule)


LIMITS = {"solve by another formulation": ["--time-limit", 20]}

Asked = Callable[[Instance, Sequence[object]], list[object]]
FEATURES = [feature.name for feature in (*WIDE, SERVICES)]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Files for a command line with I and S in it."""
    monkeypatch.chdir(tmp_path)

    def files(instance: Instance, command: Sequence[object]) -> list[object]:
        pytest.importorskip(NEEDED.get(str(command[0]), "pytest"))
        Path("instance.json").write_text(to_json(instance), encoding="utf-8")
        Path("measured.csv").write_text(MEASURED, encoding="utf-8")
        if "S" in command:
            Path("schedule.json").write_text(solved(instance) or "", encoding="utf-8")
        names = {"I": "instance.json", "S": "schedule.json"}
        return [names.get(part, part) if isinstance(part, str) else part for part in command]

    return files


def marks_of(command: str, name: str) -> list[pytest.MarkDecorator]:
    """Slow is what repeats others: most objectives of what draws or compares, and some features.

    Charts by `plot` are those of `report`, and what `compare` runs has tests of its own.
    """
    fast = {"plot": FEATURES[:1], "compare": FEATURES[::3], "compare, objective": FEATURES[:1]}
    if command not in {"report", *fast} or name in {OBJECTIVES[0], OBJECTIVES[-1]}:
        return []
    return [] if name in fast.get(command, FEATURES) else [pytest.mark.slow]


def test_every_command_is_tested_here() -> None:
    tested = {str(command[0]) for command in (*HANDLING.values(), *REFUSING.values())}
    assert tested | OTHERS == set(rarmodel.commands)


def test_by_duty_calibrate_asks_what_ran_beside(invoke: Invoke, asked: Asked) -> None:
    outcome = invoke(*asked(wide(DUTY.name), HANDLING["calibrate"]))
    assert outcome.code == 2
    line = "measured.csv: line 2: no run; its name is expected, to know what ran beside"
    assert outcome.lines[0] == line
    last = "measured.csv: model 'duty' asks what ran beside each row; --model count does not"
    assert outcome.lines[-1] == last


def test_calibrate_leaves_the_rates_of_a_tree_with_levels(invoke: Invoke, asked: Asked) -> None:
    outcome = invoke(*asked(wide(LEVELS.name), HANDLING["calibrate"]))
    assert outcome.code == 0
    assert outcome.lines == ["note: network_gbps is ignored: the links of a tree keep their rates"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        pytest.param(command, name, marks=marks_of(command, name))
        for command in HANDLING
        # Where a command asks for an objective, that of the instance counts for nothing.
        for name in (*FEATURES, *(() if "--objective" in HANDLING[command] else OBJECTIVES))
        if command != "calibrate" or name not in {DUTY.name, NETWORK_PRESSURES.name, LEVELS.name}
    ],
)
def test_commands_work_on_wide_instances(
    command: str, name: str, invoke: Invoke, asked: Asked
) -> None:
    outcome = invoke(*asked(wide(name), HANDLING[command]))
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""


def test_a_model_of_jobs_and_services_is_refused_where_replicas_come_first(
    invoke: Invoke, asked: Asked
) -> None:
    both = ["formulate", "I", "--formulation", "time-indexed-compact", "--output", "model.lp"]
    outcome = invoke(*asked(wide(SERVICES.name), both))
    assert outcome.code == 2
    (line,) = outcome.lines
    assert "'time-indexed-compact' does not handle services (services) in one model" in line
    mix = ["formulate", "I", "--formulation", "cheapest-mix", "--output", "mix.lp"]
    assert invoke(*asked(wide(SERVICES.name), mix)).code == 0
    (line,) = invoke(*asked(plain(), mix)).lines
    assert line == "cheapest-mix: no service asks for anything (services)"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (command, name)
        for command in REFUSING
        for name in (*FEATURES, *OBJECTIVES[1:], PREEMPTION.name)
        if name not in TAKEN[command]
    ],
)
def test_commands_for_the_papers_problem_name_the_field(
    command: str, name: str, invoke: Invoke, asked: Asked
) -> None:
    instance = wide(name)
    outcome = invoke(*asked(instance, REFUSING[command]))
    refused = (f"{feature} ({place})" for feature, place in used(instance).items())
    assert outcome.code == 2
    assert outcome.out == ""
    (line,) = outcome.lines
    assert line.endswith(f" does not handle {' and '.join(refused)}")


@pytest.mark.parametrize(
    ("command", "name"), [(command, name) for command in TAKEN for name in sorted(TAKEN[command])]
)
def test_commands_for_the_papers_problem_take_what_changes_only_speeds(
    command: str, name: str, invoke: Invoke, asked: Asked
) -> None:
    outcome = invoke(*asked(wide(name), [*REFUSING[command], *LIMITS.get(command, ())]))
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("command", HANDLING)
def test_commands_work_with_preemption_or_name_it(
    command: str, invoke: Invoke, asked: Asked
) -> None:
    outcome = invoke(*asked(wide(PREEMPTION.name), HANDLING[command]))
    if command.startswith("compare"):
        assert outcome.code in {0, 1}  # All but one are skipped, and time may not do for that one.
        assert "time-indexed-preemptive" in outcome.out
        assert outcome.out.splitlines()[-1].endswith("preemption (preemption)")
    elif outcome.code == 2:
        (line,) = outcome.lines
        assert line.endswith(" does not handle preemption (preemption)")
    else:
        assert outcome.code == 0


@pytest.mark.parametrize("name", FEATURES)
def test_a_deadline_that_cannot_be_met_is_named_beside_each_feature(
    name: str, invoke: Invoke, asked: Asked
) -> None:
    instance = wide(name)
    jobs = [job.model_copy(update={"deadline": 0}) for job in instance.jobs[:1]]
    instance = instance.model_copy(update={"jobs": (*jobs, *instance.jobs[1:])})
    for command in ("solve", "solve by a rule", "solve exactly", "compare"):
        outcome = invoke(*asked(instance, HANDLING[command]))
        assert outcome.code == 1
        assert "job 'j0' can start at slot" in outcome.out + outcome.err
    lines = invoke("describe", "instance.json").out.splitlines()
    assert any(line.startswith("infeasible        job 'j0' can start at slot") for line in lines)


def test_a_campaign_skips_what_does_not_fit(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [
        name for name in (*FEATURES, PREEMPTION.name) if name not in TAKEN["solve by a policy"]
    ]
    for name in names:
        Path(f"{name}.json").write_text(to_json(wide(name)), encoding="utf-8")
    listed = ", ".join(f"{name}.json" for name in names)
    Path("c.yaml").write_text(f"name: c\ninstances: [{listed}]\nmethods: [first-fit]\n")
    outcome = invoke("campaign", "run", "c.yaml", "--output", "out")
    assert outcome.code == 0
    assert f"skipped  {len(names)}" in outcome.out.splitlines()
    table = pq.read_table("out/table.parquet").to_pylist()
    for name, row in zip(names, table, strict=True):
        assert (row["state"], row["status"]) == ("skipped", "skipped")
        ((feature, place),) = used(wide(name)).items()
        assert row["stopped"] == f"first-fit does not handle {feature} ({place})"
