"""The study in the documentation: its files make the campaign that its page describes."""

from __future__ import annotations

from pathlib import Path

from rarmodel.campaigns import plan_campaigns
from rarmodel.files import parse_instance

FOLDER = Path(__file__).parents[2] / "docs" / "study"


def test_study_is_planned_as_its_page_says() -> None:
    plan = plan_campaigns([FOLDER / "study.yaml"])
    assert len({run.task.run for run in plan.runs}) == 192
    assert not plan.skipped
    found = [parse_instance(text) for text in plan.instances.values()]
    assert len(found) == 12
    assert {len(one.jobs) for one in found} == {75, 80}
    assert {one.cluster.total_gpus for one in found} == {64, 80}
    assert all(one.preemption is not None for one in found)
