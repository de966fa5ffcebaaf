"""Recorded outputs of Slurm, and a Slurm that answers from them and remembers commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rarmodel.slurm.outputs import COMMANDS, SlurmError, recorded

RECORDED = Path(__file__).parent / "recorded"


class Replayed:
    """Answers questions with recorded outputs; changes are remembered, and may be refused."""

    def __init__(self, outputs: dict[str, str]) -> None:
        self.outputs = outputs
        self.changes: list[tuple[str, ...]] = []
        self.refused: set[str] = set()

    def __call__(self, command: Sequence[str]) -> str:
        """Run a command."""
        for name, question in COMMANDS.items():
            if tuple(command) == question:
                return self.outputs[name]
        self.changes.append(tuple(command))
        if self.refused & {*command}:
            raise SlurmError(f"{' '.join(command)}: refused")
        return ""


@pytest.fixture
def shapes() -> dict[str, str]:
    """Eight nodes: jobs of every shape, hostile names, a drained node, a reservation."""
    return recorded(RECORDED / "shapes")


@pytest.fixture
def queue() -> Replayed:
    """Eight nodes, three running jobs, held and marked jobs, and one that is not marked."""
    return Replayed(recorded(RECORDED / "queue"))
