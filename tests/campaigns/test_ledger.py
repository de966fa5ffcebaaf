"""The ledger's file: whose turn it is, and what it says when it cannot be used."""

from __future__ import annotations

import shutil
import sqlite3
import sys
import threading
from pathlib import Path

import pytest
from campaign_files import TURNS, recorded, write_campaign

from rarmodel.campaigns import (
    Standing,
    campaign_report,
    export,
    read_campaigns,
    run_campaigns,
    standing,
)
from rarmodel.campaigns.ledger import open_ledger
from rarmodel.errors import InputError, UsageError


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


@pytest.mark.parametrize("version", [0, 1])
def test_a_database_of_another_program_is_left_as_it_is(folder: Path, version: int) -> None:
    path = folder / "out" / "ledger.sqlite"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE accounts (owner)")
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="not a ledger but a database of something else"):
        run_campaigns(write_campaign(folder, TURNS), folder / "out")
    assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_folder_that_cannot_be_looked_into_is_refused_in_one_line(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    path = write_campaign(folder, TURNS)
    for name in ("loop", "loop/inner", "x" * 300, "a\0b", "x/" * 3000, "campaign.yaml"):
        for ask in (
            lambda name: run_campaigns(path, name),
            standing,
            lambda name: export(name, "copy.parquet"),
            campaign_report,
            read_campaigns,
        ):
            if (name, ask) == ("campaign.yaml", read_campaigns):
                continue
            with pytest.raises(InputError) as refused:
                ask(name)
            assert len(refused.value.lines()) == 1


def test_a_ledger_without_workplaces_goes_on(folder: Path, whole: Path) -> None:
    write_campaign(folder, TURNS)
    shutil.copytree(whole, folder / "out")
    connection = sqlite3.connect(folder / "out" / "ledger.sqlite")
    with connection:
        connection.execute("DROP TABLE workplaces")
    connection.close()
    assert run_campaigns("campaign.yaml", "out").done == 8


def test_a_ledger_without_tables_is_no_other_version(folder: Path) -> None:
    (folder / "ledger.sqlite").write_bytes(b"")
    with pytest.raises(InputError, match="empty; a campaign begins here"):
        standing(folder)


@pytest.mark.usefixtures("runs_here")
def test_what_makes_no_sense_in_a_ledger_is_named(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    run_campaigns(path, folder / "out")
    connection = sqlite3.connect(folder / "out" / "ledger.sqlite")
    with connection:
        connection.execute("UPDATE outcomes SET failed = 1, outcome = '{\"failure'")
    connection.close()
    (run,) = recorded(folder / "out")
    with pytest.raises(InputError, match=f"cannot be used: what it has of run {run} is damaged"):
        standing(folder / "out")
    with pytest.raises(InputError, match=f"what it has of run {run} is damaged"):
        export(folder / "out", folder / "copy.parquet")


def test_of_two_drivers_that_begin_at_once_one_goes_on(tmp_path: Path) -> None:
    # The other asks for the lock at the same moment, and lets go of what it got of it.
    other = sqlite3.connect(tmp_path / "ledger.lock", check_same_thread=False)
    other.execute("CREATE TABLE any (thing)")
    other.execute("BEGIN")
    other.execute("SELECT * FROM any")
    timer = threading.Timer(0.1, other.close)
    timer.start()
    with open_ledger(tmp_path / "ledger.sqlite", writes=True):
        pass
    timer.join()


def test_a_ledger_that_cannot_be_written_is_refused(folder: Path) -> None:
    path = write_campaign(folder, TURNS.replace("0..7", "[1]"))
    (folder / "out" / "ledger.lock").mkdir(parents=True)
    with pytest.raises(InputError, match=r"ledger\.sqlite: cannot be used: unable to open"):
        run_campaigns(path, folder / "out")


def test_a_folder_that_cannot_be_made_is_refused(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        run_campaigns(write_campaign(folder, TURNS), folder / "file" / "out")
    with pytest.raises(InputError, match="cannot be made: embedded null byte"):
        run_campaigns(folder / "campaign.yaml", "out\0")
