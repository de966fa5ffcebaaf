"""Campaigns as a whole: what survives, what is done once, and what the table holds."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from campaign_files import SUPPORT, Row, lasting, rows, write_campaign, write_instance

from rarmodel.campaigns import Standing, export, run_campaigns, standing
from rarmodel.campaigns.pool import PoolLostError
from rarmodel.errors import InputError, UsageError
from rarmodel.files import read_instance, read_schedule
from rarmodel.verifier import verify

TURNS = """\
name: turns
instances: [one.json]
methods:
  - method: campaign_methods:TURNS
    parameters: {seconds: 0.3}
seeds: 0..7
"""


def recorded(folder: Path) -> dict[str, str]:
    """Each outcome in a ledger as it stands there, by run."""
    connection = sqlite3.connect(folder / "ledger.sqlite")
    try:
        return dict(connection.execute("SELECT run, outcome || recorded FROM outcomes"))
    finally:
        connection.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What TURNS leaves, done in one go."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SUPPORT))
        patch.chdir(folder)
        write_instance(folder)
        found = run_campaigns(write_campaign(folder, TURNS), folder / "out", workers=2)
    assert (found.planned, found.done, found.failed) == (8, 8, 0)
    return folder / "out"


@pytest.fixture
def uninterrupted(whole: Path, folder: Path) -> list[Row]:
    """The table of TURNS, done in one go; the file stands in the test's folder too."""
    write_campaign(folder, TURNS)
    return lasting(whole)


def test_a_campaign_leaves_table_instances_and_schedules(folder: Path) -> None:
    path = write_campaign(
        folder,
        """\
name: two
instances: [one.json, two-servers]
methods: [sjf-bco]
formulations:
  - {formulation: time-indexed, solvers: [highs]}
limits: {seconds: 300}
""",
    )
    told: list[Standing] = []
    found = run_campaigns(path, folder / "out", workers=2, tell=told.append)
    assert (found.planned, found.done, found.failed, found.open) == (4, 4, 0, 0)
    assert [far.done for far in told] == [1, 2, 3, 4]
    table = rows(folder / "out")
    assert [(row["instance"], row["method"] or row["formulation"]) for row in table] == [
        ("one", "sjf-bco"),
        ("one", "time-indexed"),
        ("two-servers", "sjf-bco"),
        ("two-servers", "time-indexed"),
    ]
    for row in table:
        assert row["campaign"] == "two"
        assert row["state"] == "done"
        assert row["verified"] is True
        assert row["seed"] == 0
        assert row["rarmodel"]
        assert row["python"]
        assert row["error"] is None
        instance = read_instance(folder / "out" / "instances" / f"{row['instance_hash']}.json")
        schedule = read_schedule(folder / "out" / "schedules" / f"{row['run']}.json")
        assert verify(instance, schedule).makespan == row["makespan"]
    assert table[1]["status"] == "optimal"
    assert table[1]["solver_version"]
    assert not (folder / "out" / "work").exists()


def test_the_same_file_gives_the_same_table(folder: Path, uninterrupted: list[Row]) -> None:
    run_campaigns(folder / "campaign.yaml", folder / "again", workers=1)
    assert lasting(folder / "again") == uninterrupted


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_driver_loses_and_repeats_nothing(
    folder: Path, uninterrupted: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = folder / "counts"
    counts.mkdir()
    monkeypatch.setenv("TURNS_COUNTED_IN", str(counts))
    command = ["campaign", "run", "campaign.yaml", "--output", "killed", "--workers", "2"]
    driver = subprocess.Popen([sys.executable, "-m", "rarmodel", *command])
    try:
        _wait_for_outcomes(folder / "killed", 2, driver)
    finally:
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    before = recorded(folder / "killed")
    assert 2 <= len(before) < 8
    assert standing(folder / "killed").open == 8 - len(before)
    found = run_campaigns("campaign.yaml", "killed", workers=2)
    assert (found.done, found.failed, found.open) == (8, 0, 0)
    after = recorded(folder / "killed")
    assert {run: after[run] for run in before} == before
    assert lasting(folder / "killed") == uninterrupted
    begun = {path.name: path.read_text().count("begun") for path in counts.iterdir()}
    assert len(begun) == 8
    assert all(times <= 2 for times in begun.values())
    # Only what was under way when the driver died was begun again.
    assert sum(begun.values()) <= 8 + 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_what_is_finished(folder: Path, uninterrupted: list[Row]) -> None:
    command = ["campaign", "run", "campaign.yaml", "--output", "stopped", "--workers", "2"]
    driver = subprocess.Popen(
        [sys.executable, "-m", "rarmodel", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _wait_for_outcomes(folder / "stopped", 2, driver)
        driver.send_signal(signal.SIGINT)
        out, err = driver.communicate(timeout=60)
    finally:
        driver.kill()
        driver.wait()
    assert driver.returncode == 1
    assert "interrupted" in err
    assert "Traceback" not in err
    assert "planned  8" in out
    done = len(rows(folder / "stopped"))
    assert 2 <= done < 8
    assert not (folder / "stopped" / "work").exists()
    assert run_campaigns("campaign.yaml", "stopped", workers=2).done == 8
    assert lasting(folder / "stopped") == uninterrupted


def test_what_a_process_finished_after_its_driver_died_is_not_done_again(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    run_campaigns(path, folder / "first")
    (run,) = recorded(folder / "first")
    connection = sqlite3.connect(folder / "first" / "ledger.sqlite")
    with connection:
        ((outcome,),) = connection.execute("SELECT outcome FROM outcomes").fetchall()
        connection.execute("DELETE FROM outcomes")
    connection.close()
    left = folder / "first" / "work" / run
    left.mkdir(parents=True)
    (left / "result.json").write_text(outcome)
    told: list[Standing] = []
    found = run_campaigns(path, folder / "first", tell=told.append)
    assert found.done == 1
    assert told == []
    assert not (folder / "first" / "work" / run).exists()


def test_failures_are_recorded_beside_what_works(folder: Path) -> None:
    text = """\
name: failures
instances: [one.json]
methods:
  - campaign_methods:RAISES
  - campaign_methods:EXITS
  - campaign_methods:TURNS
"""
    # Where the machine is busy, only the one that never ends may run out of time.
    late = "name: late\ninstances: [one.json]\nmethods: [campaign_methods:HANGS]\n"
    paths = [
        write_campaign(folder, text),
        write_campaign(folder, late + "limits: {seconds: 3}\n", "late.yaml"),
    ]
    found = run_campaigns(paths, folder / "out", workers=2)
    assert (found.done, found.failed) == (1, 3)
    table = rows(folder / "out")
    assert [row["failure"] for row in table] == ["exception", "died", None, "time"]
    assert table[0]["error"] == "ZeroDivisionError: nothing to divide by"
    assert table[0]["makespan"] is None
    assert table[2]["makespan"] == 12
    assert [error for _, error in found.failures] == [table[i]["error"] for i in (0, 1, 3)]
    before = recorded(folder / "out")
    assert run_campaigns(paths, folder / "out") == found
    assert recorded(folder / "out") == before
    again = run_campaigns(paths, folder / "out", workers=2, retry_failed=True)
    assert (again.done, again.failed) == (1, 3)
    same = [run for run, outcome in recorded(folder / "out").items() if before[run] == outcome]
    assert same == [table[2]["run"]]


def test_after_a_change_of_the_file_only_new_runs_are_done(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1, 2]"))
    run_campaigns(path, folder / "out", workers=2)
    before = recorded(folder / "out")
    write_instance(folder, "other", jobs=3)
    write_campaign(
        folder,
        TURNS.replace("0..7", "[2, 3]").replace("[one.json]", "[other.json, one.json]"),
    )
    told: list[Standing] = []
    found = run_campaigns(path, folder / "out", workers=2, tell=told.append)
    assert (found.planned, found.done, len(told)) == (4, 4, 3)
    after = recorded(folder / "out")
    assert {run: after[run] for run in before} == before
    table = [(row["instance"], row["seed"]) for row in rows(folder / "out")]
    assert table == [("other", 2), ("other", 3), ("one", 2), ("one", 3)]


def test_a_run_that_two_campaigns_share_is_done_once(folder: Path) -> None:
    text = TURNS.replace("0..7", "[1]")
    paths = [
        write_campaign(folder, text.replace("name: turns", f"name: {name}"), f"{name}.yaml")
        for name in ("a", "b")
    ]
    found = run_campaigns(paths, folder / "out")
    assert found.planned == 1
    first, second = rows(folder / "out")
    assert (first.pop("campaign"), second.pop("campaign")) == ("a", "b")
    assert first == second


def test_the_table_can_be_exported_again(tmp_path: Path, whole: Path) -> None:
    output = tmp_path / "copy.parquet"
    assert export(whole, output) == 8
    assert pq.read_table(output).equals(pq.read_table(whole / "table.parquet"))
    assert output.read_bytes() == (whole / "table.parquet").read_bytes()


def test_parameters_are_columns_of_their_own_type(folder: Path) -> None:
    path = write_campaign(
        folder,
        """\
name: typed
instances:
  - one.json
  - {generate: small, parameters: {execution_slots: [3, 4]}, vary: {jobs: [2], alpha: [0.5, 1]}}
methods:
  - sjf-bco
  - {method: sjf-bco, vary: {kappa: [1, 2]}}
options: {time_limit: 60}
""",
    )
    run_campaigns(path, folder / "out")
    table = pq.read_table(folder / "out" / "table.parquet")
    types = {name: str(table.schema.field(name).type) for name in table.schema.names}
    assert types["source_jobs"] == "int64"
    assert types["source_alpha"] == "double"
    assert types["source_execution_slots"] == "string"
    assert types["parameter_kappa"] == "int64"
    assert types["option_time_limit"] == "double"
    assert types["makespan"] == "int64"
    assert table["parameter_kappa"].to_pylist() == [None, 1, 2] * 3
    assert table["source_alpha"].to_pylist() == [None] * 3 + [0.5] * 3 + [1.0] * 3
    assert set(table["source_execution_slots"].to_pylist()) == {None, "[3,4]"}


def test_two_drivers_exclude_each_other(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    refused: list[str] = []

    def intrude(_: Standing) -> None:
        with pytest.raises(UsageError) as error:
            run_campaigns(path, folder / "out")
        refused.append(str(error.value))

    assert run_campaigns(path, folder / "out", tell=intrude).done == 1
    assert refused == [f"{folder / 'out'}: another process runs a campaign here"]


def test_a_folder_without_a_ledger_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="no ledger here"):
        standing(folder)
    (folder / "ledger.sqlite").write_text("no database")
    with pytest.raises(InputError, match="not a ledger"):
        standing(folder)
    with pytest.raises(InputError, match="not a ledger"):
        run_campaigns(write_campaign(folder, TURNS), folder)
    (folder / "ledger.sqlite").unlink()
    connection = sqlite3.connect(folder / "ledger.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="a ledger of version 99"):
        standing(folder)


def test_a_ledger_that_cannot_be_written_is_refused(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    (folder / "out" / "ledger.lock").mkdir(parents=True)
    with pytest.raises(InputError, match=r"ledger\.sqlite: cannot be used: unable to open"):
        run_campaigns(path, folder / "out")


def test_a_folder_that_cannot_be_made_is_refused(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        run_campaigns(write_campaign(folder, TURNS), folder / "file" / "out")


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A local Dask cluster of two workers of one thread each."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=50,
    ) as running:
        yield running


@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_dask_worker_loses_nothing(
    folder: Path, uninterrupted: list[Row], cluster: Any
) -> None:
    victim = cluster.workers[0].pid
    told: list[int] = []

    def kill(far: Standing) -> None:
        told.append(far.done)
        if far.done == 2:
            os.kill(victim, signal.SIGKILL)

    found = run_campaigns("campaign.yaml", "dask", scheduler=cluster.scheduler_address, tell=kill)
    assert (found.done, found.failed, found.open) == (8, 0, 0)
    assert told == [1, 2, 3, 4, 5, 6, 7, 8]
    assert lasting(folder / "dask") == uninterrupted


@pytest.mark.filterwarnings("default")
def test_ctrl_c_withdraws_what_no_dask_worker_has_begun(
    folder: Path, uninterrupted: list[Row], cluster: Any
) -> None:
    def interrupt(far: Standing) -> None:
        if far.done == 2:
            raise KeyboardInterrupt

    address = cluster.scheduler_address
    found = run_campaigns("campaign.yaml", "stopped", scheduler=address, tell=interrupt)
    assert found.interrupted
    assert 2 <= found.done < 8
    assert len(rows(folder / "stopped")) == found.done
    assert run_campaigns("campaign.yaml", "stopped", scheduler=address).done == 8
    assert lasting(folder / "stopped") == uninterrupted


@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_goes_away_keeps_what_is_finished(
    folder: Path, uninterrupted: list[Row], cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask

    monkeypatch.setattr("rarmodel.campaigns.dask_pool.CONNECT_SECONDS", 2)

    def leave(far: Standing) -> None:
        if far.done == 2:
            cluster.close()

    soon = dask.config.set({"distributed.comm.timeouts.connect": "2s"})
    with soon, pytest.raises(PoolLostError, match="what is finished is kept"):
        run_campaigns("campaign.yaml", "lost", scheduler=cluster.scheduler_address, tell=leave)
    before = recorded(folder / "lost")
    assert 2 <= len(before) < 8
    assert run_campaigns("campaign.yaml", "lost", workers=2).done == 8
    assert {run: recorded(folder / "lost")[run] for run in before} == before
    assert lasting(folder / "lost") == uninterrupted


def test_a_scheduler_that_is_not_there_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("rarmodel.campaigns.dask_pool.CONNECT_SECONDS", 1)
    path = write_campaign(folder, TURNS)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(UsageError, match="no Dask scheduler at"):
            run_campaigns(path, folder / "out", scheduler=address)
    with pytest.raises(UsageError, match="workers of its own"):
        run_campaigns(path, folder / "out", scheduler="tcp://127.0.0.1:9", workers=2)


def test_dask_that_is_not_installed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="pip install 'rarmodel\\[dask\\]'"):
        run_campaigns(write_campaign(folder, TURNS), folder / "out", scheduler="tcp://x:1")


def _wait_for_outcomes(folder: Path, count: int, driver: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and driver.poll() is None:
        if (folder / "ledger.sqlite").exists():
            try:
                if len(recorded(folder)) >= count:
                    return
            except sqlite3.OperationalError:
                pass  # Its tables are not made yet.
        time.sleep(0.02)
    raise AssertionError("the driver got nowhere")


def test_no_threads_are_left(folder: Path) -> None:
    before = threading.active_count()
    run_campaigns(write_campaign(folder, TURNS.replace("0..7", "[1]")), folder / "out")
    assert threading.active_count() == before
