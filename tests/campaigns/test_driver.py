"""Campaigns as a whole: what survives, what is done once, and what the table holds."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from campaign_files import TURNS, Row, lasting, recorded, rows, write_campaign, write_instance
from depth import first

from rarmodel.campaigns import Standing, export, run_campaigns, standing
from rarmodel.campaigns.run_pools import PoolLostError
from rarmodel.campaigns.task import failed
from rarmodel.errors import InputError
from rarmodel.files import read_instance, read_schedule
from rarmodel.verifier import verify


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
    assert not _workplaces(folder / "out")


@pytest.mark.usefixtures("runs_here")
def test_the_same_file_gives_the_same_table(folder: Path, uninterrupted: list[Row]) -> None:
    run_campaigns(folder / "campaign.yaml", folder / "again", workers=1)
    assert lasting(folder / "again") == uninterrupted


@pytest.mark.usefixtures("runs_here")
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


@pytest.mark.usefixtures("runs_here")
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
    assert driver.returncode == 1, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert "planned  8" in out
    done = len(rows(folder / "stopped"))
    assert 2 <= done < 8
    assert not _workplaces(folder / "stopped")
    assert run_campaigns("campaign.yaml", "stopped", workers=2).done == 8
    assert lasting(folder / "stopped") == uninterrupted


@pytest.mark.usefixtures("runs_here")
def test_what_a_process_finished_after_its_driver_died_is_not_done_again(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    run = _leave_unrecorded(path, folder / "first")
    told: list[Standing] = []
    found = run_campaigns(path, folder / "first", tell=told.append)
    assert found.done == 1
    assert told == []
    assert run in recorded(folder / "first")
    assert not _workplaces(folder / "first")


@pytest.mark.usefixtures("runs_here")
def test_the_same_holds_if_the_file_has_changed_meanwhile(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    run = _leave_unrecorded(path, folder / "out")
    write_campaign(folder, TURNS.replace("0..7", "[2]"))
    run_campaigns(path, folder / "out")
    assert run in recorded(folder / "out")
    assert not _workplaces(folder / "out")


@pytest.mark.usefixtures("runs_here")
def test_the_same_holds_for_what_had_failed_before(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    run = _leave_unrecorded(path, folder / "out")
    connection = sqlite3.connect(folder / "out" / "ledger.sqlite")
    with connection:
        connection.execute(
            "INSERT INTO outcomes (run, failed, outcome) VALUES (?, 1, ?)",
            (run, failed("died", "killed").to_json()),
        )
    connection.close()
    assert run_campaigns(path, folder / "out").done == 1


def _leave_unrecorded(path: Path, folder: Path) -> str:
    """Do the one run of a campaign, and leave it as a driver that died before recording it."""
    run_campaigns(path, folder)
    (run,) = recorded(folder)
    connection = sqlite3.connect(folder / "ledger.sqlite")
    with connection:
        ((outcome,),) = connection.execute("SELECT outcome FROM outcomes").fetchall()
        connection.execute("DELETE FROM outcomes")
        connection.execute("INSERT INTO workplaces VALUES ('.rarmodel-run-left')")
    connection.close()
    left = folder / ".rarmodel-run-left" / run
    left.mkdir(parents=True)
    (left / "result.json").write_text(outcome)
    return run


FOREIGN = (
    "work/thesis.txt",
    "work/0123456789abcdef0123/result.json",
    ".rarmodel-run-theirs/result.json",
    ".rarmodel-run/thesis.txt",
    "instances/notes.txt",
    "schedules/notes.txt",
    "notes.txt",
)
"""Files of others in a campaign's folder, under names that we might take."""


def _write_foreign(folder: Path) -> None:
    for name in FOREIGN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def _check_foreign(folder: Path) -> None:
    assert [name for name in FOREIGN if (folder / name).read_text() != name] == []


@pytest.mark.usefixtures("runs_here")
def test_files_of_others_survive_a_run(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    run_campaigns(path, folder / "out")
    _write_foreign(folder / "out")
    write_campaign(folder, TURNS.replace("0..7", "[1, 2]"))
    told: list[Standing] = []
    assert run_campaigns(path, folder / "out", tell=told.append).done == 2
    assert len(told) == 1
    assert run_campaigns(path, folder / "out").done == 2
    _check_foreign(folder / "out")


@pytest.mark.usefixtures("runs_here")
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("how", first(1, [signal.SIGKILL, signal.SIGTERM]))
def test_files_of_others_survive_a_killed_run_and_its_resumption(
    folder: Path, how: signal.Signals
) -> None:
    write_campaign(folder, TURNS.replace("0..7", "[1]"))
    run_campaigns("campaign.yaml", "out")
    _write_foreign(folder / "out")
    write_campaign(folder, TURNS)
    command = ["campaign", "run", "campaign.yaml", "--output", "out", "--workers", "2"]
    driver = subprocess.Popen([sys.executable, "-m", "rarmodel", *command])
    try:
        _wait_for_outcomes(folder / "out", 3, driver)
        assert len(_workplaces(folder / "out")) == 1
    finally:
        os.kill(driver.pid, how)
        driver.wait()
    _check_foreign(folder / "out")
    assert run_campaigns("campaign.yaml", "out", workers=2).done == 8
    _check_foreign(folder / "out")
    assert not _workplaces(folder / "out")


@pytest.mark.usefixtures("runs_here")
@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_ledger_that_names_other_folders_has_none_of_them_removed(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    run_campaigns(path, folder / "out")
    theirs = folder / "theirs"
    _write_foreign(theirs)
    (folder / ".rarmodel-run-above").mkdir()
    (folder / "out" / ".rarmodel-run-link").symlink_to(theirs)
    names = ["../theirs", str(theirs), ".rarmodel-run-x/../../theirs", "", ".", "..", "schedules"]
    names += [".rarmodel-run-link", "../.rarmodel-run-above"]
    connection = sqlite3.connect(folder / "out" / "ledger.sqlite")
    with connection:
        connection.executemany("INSERT INTO workplaces VALUES (?)", [(name,) for name in names])
    connection.close()
    assert run_campaigns(path, folder / "out").done == 1
    _check_foreign(theirs)
    assert (folder / ".rarmodel-run-above").is_dir()
    assert (folder / "out" / ".rarmodel-run-link").is_symlink()
    assert len(list((folder / "out" / "schedules").iterdir())) == 1


@pytest.mark.parametrize("name", [*FOREIGN, "table.parquet", ".hidden", "ledger.sqlite/a"])
def test_a_folder_of_others_is_refused_and_left_as_it_is(folder: Path, name: str) -> None:
    path = write_campaign(folder, TURNS)
    (folder / "theirs" / name).parent.mkdir(parents=True)
    (folder / "theirs" / name).write_text("theirs")
    with pytest.raises(InputError) as refused:
        run_campaigns(path, folder / "theirs")
    (line,) = refused.value.lines()
    top = Path(name).parts[0]
    if not name.startswith("ledger"):
        assert line == (
            f"{folder / 'theirs'}: holds {top!r} and no campaign; "
            "name a new or an empty folder, or one in which a campaign was run"
        )
    assert (folder / "theirs" / name).read_text() == "theirs"
    found = {entry.name for entry in (folder / "theirs").iterdir()}
    assert found - {"ledger.lock", "ledger.lock-journal"} == {top}


@pytest.mark.usefixtures("runs_here")
def test_a_campaign_that_was_killed_as_it_began_goes_on(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    (folder / "out").mkdir()
    for name in ("ledger.lock", "ledger.lock-journal"):
        (folder / "out" / name).write_bytes(b"")
    assert run_campaigns(path, folder / "out").done == 1


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
    assert table[0]["error"].startswith("PartError: method 'raises' failed at ")
    assert table[0]["error"].endswith(": ZeroDivisionError: nothing to divide by")
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


@pytest.mark.usefixtures("runs_here")
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


@pytest.mark.usefixtures("runs_here")
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


@pytest.mark.usefixtures("runs_here")
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


@pytest.mark.usefixtures("runs_here")
def test_what_is_no_text_does_not_keep_the_table_from_being_written(folder: Path) -> None:
    path = write_campaign(
        folder, "name: odd\ninstances: [one.json]\nmethods: ['campaign_methods:SAYS_NO_TEXT']\n"
    )
    assert run_campaigns(path, folder / "out").done == 1
    assert rows(folder / "out")[0]["stopped"] == "half \\udce9"


def test_a_machine_on_which_no_process_starts_fails_no_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_campaign(folder, TURNS)
    monkeypatch.setattr("sys.executable", str(folder / "no-python"))
    with pytest.raises(PoolLostError, match=r"a process cannot be started: .*no-python"):
        run_campaigns(path, folder / "out")
    assert standing(folder / "out").open == 8


def test_no_threads_are_left(folder: Path) -> None:
    before = threading.active_count()
    run_campaigns(write_campaign(folder, TURNS.replace("0..7", "[1]")), folder / "out")
    assert threading.active_count() == before


def _workplaces(folder: Path) -> list[str]:
    """Folders to work in that are left, but for those that tests have made."""
    found = {path.name for path in folder.glob(".rarmodel-run-*")}
    return sorted(found - {".rarmodel-run-theirs"})


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
