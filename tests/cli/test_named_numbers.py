"""Numbers of cluster and contention in one option each, and the options of earlier versions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rarmodel.cli.former_options import FORMER, rewritten
from rarmodel.cli.number_types import Number, Whole

if TYPE_CHECKING:
    from invocation import Invoke

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TRACE = EXAMPLES / "philly.csv"


def test_numbers_of_a_cluster_and_of_contention_go_into_the_instance(invoke: Invoke) -> None:
    outcome = invoke(
        *("import", TRACE, "--cluster", "servers=2,gpus-per-server=4,network-gbps=12.5"),
        *("--cluster", "reduction-gbps=99", "--contention", "alpha=0.3,overhead-ms-per-server=7"),
    )
    assert outcome.code == 0
    made = outcome.json()
    assert [server["gpus"] for server in made["cluster"]["servers"]] == [4, 4]
    assert made["cluster"]["network"]["gbps"] == 12.5
    assert made["cluster"]["reduction_gbps"] == 99
    assert made["contention"]["degradation"]["alpha"] == 0.3
    assert made["contention"]["overhead_ms_per_server"] == 7


def test_a_file_may_stand_beside_numbers(invoke: Invoke, tmp_path: Path) -> None:
    nodes = tmp_path / "a=b.csv"
    nodes.write_text("sn,gpu\nn0,8\nn1,4\n", encoding="utf-8")
    outcome = invoke("import", TRACE, "--cluster", nodes, "--cluster", "network-gbps=10")
    assert outcome.code == 0
    made = outcome.json()["cluster"]
    assert [server["gpus"] for server in made["servers"]] == [8, 4]
    assert made["network"]["gbps"] == 10


@pytest.mark.parametrize(
    ("command", "former", "now"),
    [
        (
            ("import", TRACE),
            (
                *("--servers", "2", "--gpus-per-server=4", "--network-gbps", "10"),
                *("--alpha", "0.5", "--model", "vgg16"),
            ),
            (
                *("--cluster", "servers=2,gpus-per-server=4,network-gbps=10"),
                *("--contention", "alpha=0.5", "--default-model", "vgg16"),
            ),
        ),
        (
            ("generate", "small"),
            ("--servers", "4", "--racks", "2", "--iterations", "10..90", "--no-contention"),
            ("--cluster", "servers=4,racks=2", "--job-iterations=10..90", "--contention=none"),
        ),
        (
            ("calibrate", EXAMPLES / "measured.csv", "--json"),
            ("--network-gbps", "10", "--intra-server-gbps", "100", "--concurrency", "1"),
            (
                *("--cluster", "network-gbps=10,intra-server-gbps=100"),
                "--contention=concurrency=1",
            ),
        ),
        (("describe", "two-servers", "--json"), ("--jobs",), ("--list-jobs",)),
    ],
    ids=["import", "generate", "calibrate", "describe"],
)
def test_former_options_mean_what_they_meant(
    invoke: Invoke, command: tuple[object, ...], former: tuple[str, ...], now: tuple[str, ...]
) -> None:
    outcome = invoke(*command, *now)
    assert outcome.code == 0
    assert invoke(*command, *former) == outcome


@pytest.mark.parametrize("command", FORMER)
def test_former_options_are_not_in_the_help(invoke: Invoke, command: str) -> None:
    name = ["slurm", "plan"] if command == "slurm" else [command]
    shown = invoke(*name, "--help").out
    words = set(shown.replace("│", " ").split())
    assert "--cluster" in words or command == "describe"
    assert words & FORMER[command].keys() == set()


def test_what_stands_after_two_dashes_is_no_option() -> None:
    assert rewritten("import", ["--", "--alpha", "x"]) == ["--", "--alpha", "x"]
    assert rewritten("solve", ["--alpha", "x"]) == ["--alpha", "x"]
    assert rewritten("import", ["--alpha"]) == ["--contention", "alpha="]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--cluster", "server=2"], "no number server"),
        (["--cluster", "server=2"], "was 'servers' meant?"),
        (["--cluster", "servers=0"], "servers: 0 is not in the range x>=1"),
        (["--cluster", "servers=two"], "'two' is not a valid integer"),
        (["--cluster", "servers=2,servers=3"], "servers is given twice"),
        (["--cluster", "servers=2", "--cluster", "servers=3"], "servers is given twice"),
        (["--cluster", "a.json", "--cluster", "b.json"], "a.json and b.json are two files"),
        (["--cluster", "network-gbps=nan"], "'nan' is not a number"),
        (["--contention", "concurrency=2"], "2.0 is not in the range 0<x<=1"),
        (["--contention", "alpha"], "'alpha' has no value; alpha=VALUE is expected"),
        (["--contention", "none", "--contention", "alpha=1"], "--contention none excludes alpha"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_numbers_are_refused_with_what_is_right(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    outcome = invoke("import", TRACE, *arguments)
    assert outcome.code == 2
    assert told in outcome.err


@pytest.mark.parametrize("kind", [Whole(1, 2), Number(0, 1, max_open=True), Number(most=3)])
def test_ranges_are_told_as_intervals(kind: Whole | Number) -> None:
    with pytest.raises(Exception, match=r"is not in the range (1<=x<=2|0<=x<1|x<=3)"):
        kind.convert("9", None, None)
