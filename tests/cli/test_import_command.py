"""`rarmodel import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rarmodel.files import parse_instance, read_instance

if TYPE_CHECKING:
    from invocation import Invoke

TRACE = """job_id,num_gpus,submit_s,duration_s,model,group
a,2,0,600,vgg16,x
b,0,60,600,bert,x
c,64,120,600,bert,x
d,1,5000,600,,y
"""
HERE = ("--servers", 2, "--gpus-per-server", 4)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE, encoding="utf-8")
    return path


def test_instance_goes_to_stdout_and_the_account_to_stderr(invoke: Invoke, trace: Path) -> None:
    outcome = invoke("import", trace, *HERE)
    assert outcome.code == 0
    assert [job.name for job in parse_instance(outcome.out).jobs] == ["a", "d"]
    assert outcome.lines == [
        f"{trace}: format rarmodel, 4 rows, 2 used, 2 left out",
        "left out: 1 row: no GPU (line 3)",
        "left out: 1 row: more GPUs than the cluster's 8 (line 4), 10.7 GPU hours",
        "note: 1 row: no model; a random one by seed and name is used (line 5)",
        "kept: releases from 0 to 84; slot 0 begins at 0 s of the trace",
        "kept: 2 tenants without caps: 'x', 'y'",
        "error of profiles: nobody has measured 1 model over several servers",
        "GPU hours: 0.5 recorded, 0.5 in slots; 10.7 left out",
        "trace: 2 jobs, 2 servers, 8 GPUs, slots of 60 s",
    ]


def test_all_jobs_can_wait_at_slot_0_as_in_the_paper(invoke: Invoke, trace: Path) -> None:
    outcome = invoke("import", trace, *HERE, "--arrivals", "zero")
    instance = parse_instance(outcome.out)
    assert {job.release for job in instance.jobs} == {0}
    assert instance.tenants == ()
    assert outcome.lines[-4:] == [
        "not kept: times of submission and tenants; all jobs wait at slot 0",
        "error of profiles: nobody has measured 1 model over several servers",
        "GPU hours: 0.5 recorded, 0.5 in slots; 10.7 left out",
        "trace: 2 jobs, 2 servers, 8 GPUs, horizon 20 slots of 60 s",
    ]


def test_instance_is_written_and_the_account_printed_as_json(
    invoke: Invoke, trace: Path, tmp_path: Path
) -> None:
    path = tmp_path / "instance.json"
    outcome = invoke("import", trace, *HERE, "--output", path, "--json")
    assert outcome.code == 0
    account = outcome.json()
    assert (account["rows"], account["used"], account["format"]) == (4, 2, "rarmodel")
    assert account["left_out"] == [
        {"reason": "no GPU", "rows": 1, "examples": [3], "gpu_hours": 0},
        {
            "reason": "more GPUs than the cluster's 8",
            "rows": 1,
            "examples": [4],
            "gpu_hours": pytest.approx(64 * 600 / 3600),
        },
    ]
    assert account["gpu_hours_left_out"] == pytest.approx(64 * 600 / 3600)
    assert len(read_instance(path).jobs) == 2


def test_json_without_output_prints_the_account_alone(invoke: Invoke, trace: Path) -> None:
    assert invoke("import", trace, *HERE, "--json").json()["used"] == 2


def test_trace_can_come_from_stdin_and_go_on_to_solve(invoke: Invoke) -> None:
    text = invoke("import", "-", *HERE, stdin=TRACE).out
    assert invoke("solve", "-", stdin=text).code == 0


def test_larger_trace_is_refused_unless_asked_for(invoke: Invoke, trace: Path) -> None:
    refused = invoke("import", trace, *HERE, "--max-size", 1e-6)
    assert (refused.code, refused.out) == (2, "")
    assert refused.lines == [f"{trace}: more than 1e-06 MB; --max-size lets rarmodel read more"]
    for more in (1e-3, 1e6, "inf"):
        assert invoke("import", trace, *HERE, "--max-size", more).code == 0
    for none in (0, -1, "nan"):
        assert invoke("import", trace, *HERE, "--max-size", none).code == 2


def test_options_arrive(invoke: Invoke, trace: Path) -> None:
    options = {
        "--window": "0h..1h",
        "--group": "x",
        "--max-jobs": 1,
        "--model": "bert",
        "--seed": 4,
        "--slot-seconds": 10,
        "--horizon": 99,
        "--network-gbps": 10,
        "--intra-server-gbps": 300,
        "--reduction-gbps": 500,
        "--oversubscription": 2,
        "--alpha": 0.3,
        "--concurrency": 0.5,
        "--overhead-ms-per-server": 2,
        "--name": "mine",
        "--format": "rarmodel",
        "--arrivals": "zero",
        "--default-seconds": 60,
    }
    words = [word for option in options.items() for word in option] + ["--skip-invalid"]
    found = parse_instance(invoke("import", trace, *HERE, *words).out)
    assert (found.name, found.time.slot_seconds, found.time.horizon) == ("mine", 10, 99)
    assert [job.name for job in found.jobs] == ["a"]
    assert found.cluster.network.model_dump() == {"kind": "star", "gbps": 10.0}
    assert (found.cluster.intra_server_gbps, found.cluster.reduction_gbps) == (300, 500)
    contention = found.contention
    assert (contention.degradation.alpha, contention.concurrency) == (0.3, 0.5)
    assert contention.overhead_ms_per_server == 2


def test_columns_of_any_file(invoke: Invoke) -> None:
    columns = ("--column", "gpus=cards", "--column", "duration=ran:min")
    found = invoke("import", "-", *HERE, *columns, stdin="cards,ran\n2,10\n")
    assert found.code == 0
    assert parse_instance(found.out).time.horizon == 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "one source of servers is needed"),
        ([*HERE, "--output", "-", "--json"], "both write to stdout"),
        ([*HERE, "--column", "gpus"], "FIELD=COLUMN is expected"),
        ([*HERE, "--column", "gpus=a", "--column", "gpus=b"], "gpus is given twice"),
        ([*HERE, "--no-contention", "--alpha", "1"], "--contention none excludes alpha"),
        ([*HERE, "--output", "/nowhere/at/all.json"], "cannot be written"),
        (["--cluster", "none.json"], "none.json: cannot be read"),
        (["--slurm-conf", "none.conf"], "none.conf: cannot be read"),
    ],
    ids=str,
)
def test_bad_options_exit_2_with_a_line(
    invoke: Invoke, trace: Path, words: list[str], message: str
) -> None:
    outcome = invoke("import", trace, *words)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.lines
    assert message in line


def test_two_inputs_from_stdin_are_refused(invoke: Invoke) -> None:
    outcome = invoke("import", "-", "--cluster", "-", stdin="")
    assert (outcome.code, outcome.lines) == (2, ["only one input can come from stdin"])


def test_bad_trace_exits_2_and_leaves_the_old_file_alone(
    invoke: Invoke, trace: Path, tmp_path: Path
) -> None:
    path = tmp_path / "instance.json"
    path.write_text("old", encoding="utf-8")
    trace.write_text(TRACE + "e,1,0,-5,,\n", encoding="utf-8")
    outcome = invoke("import", trace, *HERE, "--output", path)
    assert outcome.code == 2
    assert outcome.lines == [f"{trace}: line 6, column 'duration_s': -5; it must not be negative"]
    assert path.read_text(encoding="utf-8") == "old"


def test_measured_network_and_findings_are_in_the_account(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(
        "job_id,num_gpus,submit_s,duration_s,model\na,8,0,1800000,vgg16\nb,8,9,1800000,bert\n",
        encoding="utf-8",
    )
    cluster = "servers=2,gpus-per-server=4,network-gbps=100"
    given = ("import", path, "--cluster", cluster, "--measured-gbps", 10, "--output")
    outcome = invoke(*given, tmp_path / "i.json", "--json")
    account = outcome.json()
    assert account["gpu_hours_measured"] == account["gpu_hours_recorded"] == 8000
    assert account["gpu_hours"] < 8000
    (finding,) = account["findings"]
    assert f"check: {finding}" in outcome.lines
    assert "Iterations are fitted to a network of 10 Gbit/s." in (
        read_instance(str(tmp_path / "i.json")).description or ""
    )
    assert invoke("import", path, *HERE, "--measured-gbps", 0).code == 2
