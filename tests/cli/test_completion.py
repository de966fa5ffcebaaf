"""A shell completes commands, options, names and files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import rich_click as click
from click.shell_completion import BashComplete

import rarmodel
from rarmodel import registry
from rarmodel.cli.commands import rarmodel as commands
from rarmodel.kinds import LISTED, Kind
from rarmodel.workloads import FAMILIES, FORMATS

VARIABLE = "_RARMODEL_COMPLETE"
BUNDLED = [entry["name"] for entry in rarmodel.list_instances()]
FREE = {
    *("name", "window", "time_zone", "group", "columns", "scheduler", "partition", "named"),
    *("every", "solver_options", "over", "levels", "now", "gpu_speeds", "gpu_type", "changes"),
    *("service", "services", "latencies", "accuracies"),
}
"""Texts that only the user knows."""
PROGRAM = "import sys; sys.argv[0] = 'rarmodel'; from rarmodel.cli import main; main()"


def asked(line: str) -> dict[str, str]:
    """Environment in which a shell asks what the last word of a line could become."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    return {VARIABLE: "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}


def run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the program; what it imports is told on stderr."""
    return subprocess.run(
        [sys.executable, "-X", "importtime", "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def own_names(kind: Kind, *, but: str = "") -> set[str]:
    return {name for name in registry.names(kind) if name.startswith(but)}


@pytest.mark.parametrize(
    ("line", "names", "other"),
    [
        ("rarmodel so", {"solve"}, None),
        (
            "rarmodel campaign ",
            {"run", "status", "export", "report", "figures", "plot", "table"},
            None,
        ),
        ("rarmodel solve two-servers --form", {"--formulation"}, None),
        ("rarmodel solve ", set(BUNDLED), "file"),
        ("rarmodel compare lab.json two", {"two-servers"}, "file"),
        ("rarmodel calibrate --instance rack", {"rack-tree"}, "file"),
        ("rarmodel solve two-servers --method ", own_names("methods"), None),
        ("rarmodel compare two-servers --method sjf", own_names("methods", but="sjf"), None),
        ("rarmodel formulate lab.json --formulation ", own_names("formulations"), None),
        ("rarmodel solve lab.json --formulation=rar", {"rar-ddls"}, None),
        ("rarmodel audit lab.json --solver ", own_names("solvers"), None),
        ("rarmodel solve lab.json --objective total-f", {"total-flow"}, None),
        ("rarmodel solve lab.json --objective cost,max-s", {"cost,max-stretch"}, None),
        ("rarmodel solve lab.json --output sched", set(), "file"),
        ("rarmodel solve lab.json --data ", set(), "file"),
        ("rarmodel verify lab.json ", set(), "file"),
        ("rarmodel testbed run ", set(), "file"),
        ("rarmodel report lab.json a.json ", set(), "file"),
        (
            "rarmodel plot lab.json a.json --part ",
            {"gantt", "contention", "utilisation", "resources"},
            None,
        ),
        ("rarmodel generate ", set(FAMILIES), None),
        ("rarmodel import trace.csv --format ", set(FORMATS), None),
        ("rarmodel import trace.csv --default-model resnet15", {"resnet152"}, None),
        (
            "rarmodel import trace.csv --cluster servers=2,net",
            {"servers=2,network-gbps="},
            "file",
        ),
        ("rarmodel generate --contention no", {"none"}, None),
        (
            "rarmodel campaign run figure",
            {"figures", *(f"figure-{i}" for i in range(4, 8))},
            "file",
        ),
        ("rarmodel campaign status ", set(), "dir"),
        ("rarmodel schema ", {"instance", "schedule", "certificate", "library"}, None),
        ("rarmodel list ", set(LISTED), None),
        ("rarmodel list p", {"policies", "placements"}, None),
        ("rarmodel instances ", {"write", "check", "improve"}, None),
        ("rarmodel instances write --family stars-1", {"stars-12x4", "stars-16x5"}, None),
    ],
)
def test_word_is_completed(
    monkeypatch: pytest.MonkeyPatch, line: str, names: set[str], other: str | None
) -> None:
    for variable, value in asked(line).items():
        monkeypatch.setenv(variable, value)
    answers = BashComplete(commands, {}, "rarmodel", VARIABLE).complete().splitlines()
    offered = [answer.split(",", 1) for answer in answers]
    assert {name for kind, name in offered if kind == "plain"} == names
    # Bash forgets the names before a file.
    assert [kind for kind, _ in offered if kind != "plain"] == [kind for kind in [other] if kind]
    assert other is None or offered[0][0] == other


def texts(command: click.Command, path: str = "rarmodel") -> Iterator[tuple[str, click.Parameter]]:
    """Every argument and option of a command, and of those below it, that takes a text."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from texts(inner, f"{path} {name}")
    for parameter in command.params:
        if parameter.type.name == "text":
            yield path, parameter


def test_every_text_is_completed_unless_only_the_user_knows_it() -> None:
    context = click.Context(commands)
    left = {
        f"{path}: {parameter.name}"
        for path, parameter in texts(commands)
        if not parameter.shell_complete(context, "") and parameter.name not in FREE
    }
    assert left == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_for_a_shell_is_printed(shell: str) -> None:
    outcome = run({VARIABLE: f"{shell}_source"})
    assert f"{VARIABLE}={shell}_complete" in outcome.stdout
    assert "_rarmodel_completion" in outcome.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_by_the_script(tmp_path: Path) -> None:
    program = tmp_path / "rarmodel"
    program.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(PROGRAM)}\n")
    program.chmod(0o755)
    script = (
        f"source <({VARIABLE}=bash_source rarmodel); COMP_WORDS=(rarmodel s); COMP_CWORD=1; "
        '_rarmodel_completion rarmodel; echo "${COMPREPLY[@]}"; complete -p rarmodel'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    outcome = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    offered, registered = outcome.stdout.splitlines()
    assert offered == "schema simulate slurm solve"
    assert registered == "complete -o nosort -F _rarmodel_completion rarmodel"


@pytest.mark.parametrize(
    ("line", "heavy"),
    [
        ("rarmodel so", "numba|pyomo|numpy|pydantic|yaml"),
        ("rarmodel solve ", "numba|pyomo|numpy|pydantic|yaml"),
        ("rarmodel solve two-servers --method ", "numba|pyomo|numpy|pydantic|yaml"),
        ("rarmodel solve two-servers --solver ", "numba|pyomo|numpy|pydantic|yaml"),
        ("rarmodel campaign run ", "numba|pyomo|numpy"),
        ("rarmodel generate ", "numba|pyomo"),
        ("rarmodel import trace.csv --format ", "numba|pyomo"),
        ("rarmodel import trace.csv --model ", "numba|pyomo"),
        ("rarmodel plot lab.json a.json --part ", "numba|pyomo|altair|vl_convert"),
    ],
)
def test_completion_is_light(line: str, heavy: str) -> None:
    outcome = run(asked(line))
    assert outcome.stdout
    assert "rarmodel.cli.completion" in outcome.stderr
    assert re.findall(rf"(?m)\|\s+({heavy})$", outcome.stderr) == []
