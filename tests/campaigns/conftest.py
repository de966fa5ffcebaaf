"""A folder with an instance, from which processes find the methods of `campaign_methods`."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_files import SUPPORT, TURNS, Row, lasting, write_campaign, write_instance
from runs_here import runs_in_this_process

from rarmodel.campaigns import run_campaigns


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a test."""
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    monkeypatch.chdir(tmp_path)
    write_instance(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What TURNS leaves, done in one go."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch, runs_in_this_process():
        patch.setenv("PYTHONPATH", str(SUPPORT))
        patch.chdir(folder)
        write_instance(folder)
        found = run_campaigns(write_campaign(folder, TURNS), folder / "out")
    assert (found.planned, found.done, found.failed) == (8, 8, 0)
    return folder / "out"


@pytest.fixture
def uninterrupted(whole: Path, folder: Path) -> list[Row]:
    """The table of TURNS, done in one go; the file stands in the test's folder too."""
    write_campaign(folder, TURNS)
    return lasting(whole)
