"""A folder with an instance, from which processes find the methods of `campaign_methods`."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_files import SUPPORT, write_instance


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a test."""
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    monkeypatch.chdir(tmp_path)
    write_instance(tmp_path)
    return tmp_path
