"""The numbers of docs/features/hybrid-clusters.md are those of its command."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
STUDY = runpy.run_path(str(DOCS / "hybrid_day.py"))


def test_outcomes_of_a_quick_day_contradict_no_bound() -> None:
    rows = [*STUDY["played"](seed=1, jobs=8, days=2)]
    assert [name for _, name, _ in rows] == ["halves"] * 3 + ["pool"] * 3
    for _, _, one in rows:
        assert 0 < one.trained <= one.at_most + 1e-9
        assert one.fastest <= one.flow
        assert one.cheapest <= one.service
    assert len({one.service for _, _, one in rows}) == 1


@pytest.mark.slow
def test_page_has_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    for load in STUDY["LOADS"]:
        STUDY["main"](10, load)
    page = (DOCS / "features" / "hybrid-clusters.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out in page
