"""`rarmodel calibrate`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import instance_data
from made_tables import all_reduces, colocated, pairs
from measurements import contention, nccl_output, table_of

import rarmodel
from rarmodel.files import parse_instance, read_instance
from rarmodel.schema import Contention, StarNetwork

if TYPE_CHECKING:
    from invocation import Invoke

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
RATES = (
    *("--network-gbps", 10),
    *("--intra-server-gbps", 100),
    *("--reduction-gbps", 400),
)
PLACEMENTS = [(2, 1, 1), (2, 2, 1), (4, 2, 2), (8, 4, 4), (8, 2, 6), (8, 8, 8)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(table_of(contention(0.8, 0.3, 5.0), PLACEMENTS), encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.txt"
    path.write_text(nccl_output(servers=2, gbps=10.0), encoding="utf-8")
    return path


def test_larger_file_is_refused_unless_asked_for(invoke: Invoke, table: Path, run: Path) -> None:
    for file, words in ((table, [table, *RATES]), (run, ["--nccl-tests", run])):
        refused = invoke("calibrate", *words, "--max-size", 1e-6)
        assert (refused.code, refused.out) == (2, "")
        assert refused.lines == [f"{file}: more than 1e-06 MB; --max-size lets rarmodel read more"]
        assert invoke("calibrate", *words, "--max-size", 1).code == 0


def test_constants_and_residuals_are_printed(invoke: Invoke, table: Path) -> None:
    outcome = invoke("calibrate", table, *RATES)
    assert (outcome.code, outcome.err) == (0, "")
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert lines[0] == "constant value standard error 95 % interval"
    assert [line.split()[:2] for line in lines[2:5]] == [
        ["concurrency", "0.8"],
        ["alpha", "0.3"],
        ["overhead_ms_per_server", "5"],
    ]
    assert "line job quantity measured predicted error" in lines
    assert lines[-1] == "root mean square error 0.00%, 3 degrees of freedom"
    assert sum("iteration_ms" in line for line in lines) == len(PLACEMENTS)


def test_json_has_everything(invoke: Invoke, table: Path, run: Path) -> None:
    options = ("--nccl-tests", run, "--intra-server-gbps", 100, "--reduction-gbps", 1e6, "--json")
    summary = invoke("calibrate", table, *options).json()
    assert summary["contention"]["concurrency"] == pytest.approx(0.8, rel=0.01)
    assert [rate["name"] for rate in summary["bandwidths"]] == ["network_gbps"]
    assert summary["bandwidths"][0]["runs"] == [str(run)]
    assert len(summary["rows"]) == len(PLACEMENTS) + summary["bandwidths"][0]["messages"]


def test_table_can_come_from_stdin(invoke: Invoke) -> None:
    outcome = invoke(
        "calibrate", "-", *RATES, "--json", stdin=table_of(contention(0.8, 0.3, 5.0), PLACEMENTS)
    )
    assert outcome.json()["source"] == "standard input"


def test_constants_that_are_given_are_not_fitted(invoke: Invoke, table: Path) -> None:
    given = ("--concurrency", 0.9, "--alpha", 0.2, "--overhead-ms-per-server", 1)
    summary = invoke("calibrate", table, *RATES, *given, "--json").json()
    assert [(one["value"], one["status"]) for one in summary["parameters"]] == [
        (0.9, "given"),
        (0.2, "given"),
        (1.0, "given"),
    ]


def test_output_holds_sections_of_an_instance(invoke: Invoke, table: Path, tmp_path: Path) -> None:
    path = tmp_path / "sections.json"
    assert invoke("calibrate", table, *RATES, "--output", path).code == 0
    sections = json.loads(path.read_text(encoding="utf-8"))
    assert list(sections) == ["cluster", "contention"]
    assert Contention.model_validate(sections["contention"]).concurrency == pytest.approx(0.8)


def test_output_with_an_instance_is_its_copy(
    invoke: Invoke, table: Path, instance_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "calibrated.json"
    options = (*RATES, "--instance", instance_file, "--output", path)
    assert invoke("calibrate", table, *options).code == 0
    copy = read_instance(path)
    assert copy.contention.degradation.alpha == pytest.approx(0.3)
    assert copy.cluster.intra_server_gbps == 100
    assert copy.jobs == read_instance(instance_file).jobs
    assert invoke("solve", path).code == 0


def test_output_on_stdout_stands_alone(invoke: Invoke, table: Path, instance_file: Path) -> None:
    assert list(invoke("calibrate", table, *RATES, "--output", "-").json()) == [
        "cluster",
        "contention",
    ]
    copy = invoke("calibrate", table, *RATES, "--instance", instance_file, "--output", "-").json()
    assert copy["jobs"] == instance_data()["jobs"]


def test_nccl_tests_alone_print_rates(invoke: Invoke, run: Path) -> None:
    outcome = invoke("calibrate", "--nccl-tests", run, "--message-mb", "100..2000")
    assert outcome.code == 0
    words = outcome.out.split()
    assert words[words.index("network_gbps") + 1] == "10"
    assert f"{run} (8 GPUs, 2 servers)" in outcome.out
    assert outcome.lines == [
        "note: reduction_gbps is not given: the reduction counts as part of the exchange"
    ]


def test_picture_is_written(invoke: Invoke, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    path = tmp_path / "fit.png"
    assert invoke("calibrate", table, *RATES, "--plot", path).code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_picture_without_altair_names_the_extra(
    invoke: Invoke, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    outcome = invoke("calibrate", table, *RATES, "--plot", tmp_path / "fit.svg")
    assert outcome.code == 2
    assert outcome.lines[0].startswith("charts need altair, which is not installed; install it")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "no measurements; give a table or the output of nccl-tests"),
        (("no.csv",), "no.csv: cannot be read: no such file or directory"),
        (("-", "--nccl-tests", "-"), "only one input can come from stdin"),
        (("-", "--instance", "-"), "only one input can come from stdin"),
        (
            ("-", "--output", "-", "--json"),
            "--output - and --json both write to stdout; choose one",
        ),
        (("-", "--plot", "a.gif"), "a.gif: a picture's name ends in one of .png, .svg, .pdf"),
        (
            ("-", "--output", "no/where.json"),
            "no/where.json: cannot be written: no such file or directory",
        ),
        (
            ("--nccl-tests", "-", "--alpha", 1),
            "alpha: constants of contention need a table",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    invoke: Invoke, arguments: tuple[object, ...], line: str
) -> None:
    outcome = invoke("calibrate", *arguments, stdin=nccl_output())
    assert (outcome.code, outcome.lines) == (2, [line])


@pytest.mark.parametrize(
    "option",
    [
        ("--concurrency", 0),
        ("--concurrency", 1.1),
        ("--alpha", -1),
        ("--alpha", "nan"),
        ("--network-gbps", 0),
        ("--message-mb", "much"),
    ],
)
def test_options_out_of_range_are_refused(invoke: Invoke, option: tuple[str, object]) -> None:
    assert invoke("calibrate", "-", *option, stdin="").code == 2


def test_every_problem_of_a_table_is_a_line(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(
        "gpus,servers,concurrent_jobs,gradient_mb,iteration_ms\n2,4,0,x,\n1,1,1,1,-1\n",
        encoding="utf-8",
    )
    outcome = invoke("calibrate", path)
    assert outcome.code == 2
    assert outcome.lines == [
        f"{path}: line 2, column 'servers': 4 servers; 2 GPUs are on 2 at most",
        f"{path}: line 2, column 'concurrent_jobs': 0; it must be at least 1",
        f"{path}: line 2, column 'gradient_mb': 'x'; a number is expected",
        (
            f"{path}: line 2, column 'relative_time': none of iteration_ms, completion_s and "
            "relative_time; exactly one is expected"
        ),
        f"{path}: line 3, column 'iteration_ms': -1; it must be above 0",
    ]


COMPARED = """\
run,links,gpus,servers,concurrent_jobs,gradient_mb,compute_ms,iteration_ms,part
one,a b,2,2,1,1,0,80,fit
two,a b,2,2,2,1,80,200,fit
two,a b,2,2,2,1,80,200,fit
three,a b,2,2,2,2,160,400,test
three,a c,2,2,2,2,160,400,test
"""


def test_models_are_compared(invoke: Invoke, tmp_path: Path) -> None:
    path, drawn = tmp_path / "table.csv", tmp_path / "models.svg"
    path.write_text(COMPARED, encoding="utf-8")
    words = ["calibrate", path, "--compare-models", "--network-gbps", 0.1]
    outcome = invoke(*words, "--plot", drawn)
    assert (outcome.code, outcome.err) == (0, "")
    rows = {line.split("  ")[0].strip(): line.split()[-5:] for line in outcome.out.splitlines()}
    # By duty: half of the time each, so 1.5 times 80 ms of exchange, as measured.
    assert rows["duty"] == ["0", "0.0%", "0.0%", "0.0%", "0.0%"]
    assert "duty-fixed-point" in drawn.read_text(encoding="utf-8")
    (duty,) = [
        one for one in json.loads(invoke(*words, "--json").out)["models"] if one["model"] == "duty"
    ]
    assert duty["constants"]["concurrency"] == pytest.approx(1.0, abs=1e-3)
    assert duty["test"]["worst"] < 1e-3
    assert [row["part"] for row in duty["rows"]] == ["fit"] * 3 + ["test"] * 2


@pytest.mark.parametrize(
    "words",
    [["--nccl-tests", "run.txt"], ["--message-mb", "1..2"], ["--model", "duty"], ["--output", "-"]],
)
def test_models_are_compared_without_other_answers(
    invoke: Invoke, tmp_path: Path, words: list[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(COMPARED, encoding="utf-8")
    outcome = invoke("calibrate", path, "--compare-models", *words)
    assert outcome.code == 2
    others = "--nccl-tests, --message-mb, --contention model=… and --output"
    assert outcome.lines == [f"--compare-models needs TABLE, and goes without {others}"]


def test_models_are_compared_on_a_table_only(invoke: Invoke) -> None:
    assert "--compare-models needs TABLE" in invoke("calibrate", "--compare-models").err


def test_constants_by_duty_go_into_an_instance(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(COMPARED, encoding="utf-8")
    words = ["calibrate", path, "--model", "duty", "--network-gbps", 0.1]
    printed = json.loads(invoke(*words, "--output", "-").out)
    assert printed["contention"]["model"] == "duty"
    assert printed["contention"]["concurrency"] == pytest.approx(1.0, abs=1e-3)
    data = rarmodel.load_instance("two-servers").model_dump(mode="json", exclude_unset=True)
    data["time"]["slot_seconds"] = 100.0
    slow, own = tmp_path / "slow.json", tmp_path / "own.json"
    slow.write_text(json.dumps(data), encoding="utf-8")
    assert invoke(*words, "--instance", slow, "--output", own).code == 0
    assert rarmodel.load_instance(own).contention.model == "duty"


def test_a_published_layout_is_asked_for_terms(invoke: Invoke, tmp_path: Path) -> None:
    output, drawn = tmp_path / "profiles.json", tmp_path / "pairs.svg"
    table = pairs(tmp_path / "pairs.csv")
    outcome = invoke("calibrate", table, "--output", output, "--plot", drawn, "--test", table)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1].startswith(
        "sensitivity × pressure: earns its place, the mean held-out"
    )
    assert re.search("^ all +64 ", outcome.out, re.MULTILINE)
    profiles = json.loads(output.read_text(encoding="utf-8"))["profiles"]
    assert profiles["M0,4,2"].keys() == {"network_sensitivity", "network_pressure"}
    assert "error by group" in drawn.read_text(encoding="utf-8")
    found = json.loads(invoke("calibrate", table, "--json").out)
    assert found["layout"] == "pairs of jobs"
    assert [one["earns"] for one in found["terms"]][-1]


def test_constants_of_one_cluster_go_into_an_instance(invoke: Invoke, tmp_path: Path) -> None:
    table = all_reduces(tmp_path / "made.csv", network_cards=4.0, overhead_ms_per_server=0.05)
    outcome = invoke("calibrate", table, "--instance", "two-servers", "--output", "-")
    assert outcome.code == 0
    made = parse_instance(outcome.out, "stdout")
    assert made.cluster.servers[0].network_cards == 4
    sections = tmp_path / "box.json"
    assert invoke("calibrate", table, "--output", sections).code == 0
    words = ["import", EXAMPLES / "philly.csv", "--cluster", "servers=4,gpus-per-server=8"]
    words += ["--cluster", "reduction-gbps=800", "--cluster", sections]
    outcome = invoke(*words, "--output", tmp_path / "imported.json")
    assert outcome.code == 0, outcome.err
    imported = rarmodel.load_instance(tmp_path / "imported.json")
    assert isinstance(imported.cluster.network, StarNetwork)
    assert imported.cluster.network.gbps == pytest.approx(160, rel=0.05)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--message-mb", "1..2"], "has a published layout, which goes without --nccl-tests"),
        (["--cluster", "network-gbps=3"], "has a published layout, which goes without"),
        (["--instance", "two-servers", "--output", "-"], "no cluster; an instance takes constants"),
    ],
)
def test_published_layouts_go_without_other_answers(
    invoke: Invoke, tmp_path: Path, words: list[str], expected: str
) -> None:
    outcome = invoke("calibrate", pairs(tmp_path / "pairs.csv"), *words)
    assert outcome.code == 2
    assert expected in outcome.err


def test_only_a_published_layout_is_tested_on_another_table(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(COMPARED, encoding="utf-8")
    outcome = invoke("calibrate", path, "--test", path)
    assert outcome.lines == ["--test needs TABLE in a published layout"]


def test_pairs_on_the_same_gpus_go_to_the_jobs_of_their_kinds(
    invoke: Invoke, tmp_path: Path
) -> None:
    table, own, output = (tmp_path / name for name in ("made.csv", "own.json", "with.json"))
    colocated(table)
    data = rarmodel.load_instance("two-servers").model_dump(mode="json", exclude_unset=True)
    data["jobs"][0]["kind"] = "K1 (batch size 8)"
    own.write_text(json.dumps(data), encoding="utf-8")
    words = ("calibrate", table, "--instance", own, "--output", output)
    several = invoke(*words)
    assert several.code == 2
    assert several.lines == [f"{table} has 'slow', 'fast'; choose one by --gpu-type"]
    outcome = invoke(*words, "--gpu-type", "slow")
    assert (outcome.code, outcome.err) == (0, "")
    assert re.search(r"^ matrix completion \(Gavel\) ", outcome.out, re.MULTILINE)
    made = rarmodel.load_instance(output)
    assert [(one.kind, one.beside) for one in made.colocation] == [("K1 (batch size 8)",) * 2]
    assert made.jobs[0].pressure != 1.0
    wrong = invoke(*words, "--gpu-type", "a100")
    assert (wrong.code, wrong.lines) == (2, [f"'a100': {table} has 'slow', 'fast'"])
    plain = invoke("calibrate", EXAMPLES / "measured.csv", "--gpu-type", "a100")
    assert plain.lines == ["--gpu-type needs TABLE in a published layout"]
