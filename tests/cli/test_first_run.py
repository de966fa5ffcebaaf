"""The first run says that it compiles, on stderr, and how long that took."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from invocation import Invoke


@pytest.fixture
def silent() -> None:
    """Compilation is said, other than in the tests of other commands."""


BEGIN = "rarmodel compiles what it needs, once; later runs load it from disk"


def test_compilation_is_said_once_apart_from_the_answer(
    invoke: Invoke, instance_file: Path, parts: str
) -> None:
    asked = [f"{parts}:compiling", f"{parts}:compiling_too"]
    outcome = invoke("compare", instance_file, "--method", asked[0], "--method", asked[1], "--json")
    assert outcome.code == 0
    # The second solve compiles its function anew, as what has no file is never kept.
    assert [line.partition(" in ")[0] for line in outcome.lines[:2]] == [BEGIN, "compiled"]
    assert [row["method"] for row in outcome.json()] == ["compiling", "compiling-too"]


def test_a_run_that_compiles_nothing_says_nothing(
    invoke: Invoke, instance_file: Path, parts: str
) -> None:
    outcome = invoke("solve", instance_file, "--method", f"{parts}:slow")
    assert (outcome.code, outcome.err) == (0, "")


def test_a_solve_says_it_too(invoke: Invoke, instance_file: Path, parts: str) -> None:
    outcome = invoke("solve", instance_file, "--method", f"{parts}:compiling")
    begin, end = outcome.lines
    assert begin == BEGIN
    assert end.startswith("compiled in ")
