"""Recorded outputs of Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_slurm import Replayed

from rarmodel.slurm.program_outputs import recorded

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may change the jobs of the recordings."""
    monkeypatch.setattr("os.geteuid", lambda: 0)


@pytest.fixture
def shapes() -> dict[str, str]:
    """Eight nodes: jobs of every shape, hostile names, a drained node, a reservation."""
    return recorded(RECORDED / "shapes")


@pytest.fixture
def queue() -> Replayed:
    """Eight nodes, three running jobs, held and marked jobs, and one that is not marked."""
    return Replayed(recorded(RECORDED / "queue"))
