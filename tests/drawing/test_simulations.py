"""The page on schedules of arriving jobs: figures worked by hand, and the page in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import opened
from by_hand import worked
from depth import examples
from elements import Elements
from hypothesis import given
from hypothesis import strategies as st
from shown import MARKUP

import rarmodel
from rarmodel.drawing import Group, simulations_page
from rarmodel.drawing.played import Class, over_time, played
from rarmodel.drawing.side_by_side import labels_of
from rarmodel.errors import UsageError
from rarmodel.schema import Instance, Schedule
from rarmodel.schema.tenants import Tenant

pytest.importorskip("altair")


def example(restore: float | None = None) -> Instance:
    """One server of one GPU: a is long; b and c are short, and arrive at 1 and 6."""
    jobs = [
        {"slots": 4},
        {"slots": 1, "release": 1},
        {"slots": 2, "release": 6},
    ]
    one = worked(jobs, servers=[1], restore=restore)
    tenants = ("one", "two", "two")
    named = zip(one.jobs, tenants, strict=True)
    return one.model_copy(
        update={
            "tenants": (Tenant(name="one"), Tenant(name="two")),
            "jobs": tuple(job.model_copy(update={"tenant": name}) for job, name in named),
        }
    )


def schedule(instance: Instance, policy: str = "fifo") -> Schedule:
    found = rarmodel.simulate(instance, policy).schedule
    assert found is not None
    return found


def test_figures_are_those_worked_by_hand() -> None:
    # fifo: a from 0 to 4, b from 4 to 5, c from 6 to 8.
    instance = example()
    found = played(instance, schedule(instance))
    assert found.flow.tolist() == [4, 4, 2]
    assert found.stretch.tolist() == [1, 4, 1]
    assert found.queueing.tolist() == [0, 3, 0]
    assert (found.waiting.slots, found.waiting.values) == ((1, 4), (1, 0))
    assert (found.held.slots, found.held.values) == ((0, 5, 6, 8), (1, 0, 1, 0))
    assert (found.weighted, found.end, found.shared) == (10, 8, 0)
    assert found.classes == {
        Class("size", "1 GPU"): [0, 1, 2],
        Class("tenant", "one"): [0],
        Class("tenant", "two"): [1, 2],
    }


def test_tenants_count_with_all_below_them_and_priorities_apart() -> None:
    plain = example()
    tenants = (Tenant(name="one"), Tenant(name="two", parent="one"))
    jobs = tuple(
        job.model_copy(update={"priority": priority})
        for job, priority in zip(plain.jobs, (0, 1, 0), strict=True)
    )
    instance = plain.model_copy(update={"tenants": tenants, "jobs": jobs})
    assert played(instance, schedule(instance)).classes == {
        Class("size", "1 GPU"): [0, 1, 2],
        Class("tenant", "one"): [0, 1, 2],
        Class("tenant", "one / two"): [1, 2],
        Class("priority", "1"): [1],
        Class("priority", "0"): [0, 2],
    }
    text = Elements(page_of(instance, "fifo", "priority")).text
    assert "By priority" in text
    assert "with those of all tenants below it" in text


def test_interrupted_job_waits_again() -> None:
    # srtf: a 0 to 1, b 1 to 2, a restored at 2 and done at 6; c 6 to 8.
    instance = example(restore=1.0)
    found = played(instance, schedule(instance, "srtf"))
    assert found.flow.tolist() == [6, 1, 2]
    assert found.queueing.tolist() == [1, 0, 0]
    assert (found.waiting.slots, found.waiting.values) == ((1, 2), (1, 0))


def test_rings_that_share_a_link_are_counted_while_they_do() -> None:
    jobs = [{"slots": 4, "gpus": 2}, {"slots": 2, "gpus": 2, "release": 1}]
    instance = worked(jobs, servers=(2, 2))
    apart = Schedule.model_validate(
        {
            "schema_version": 1,
            "instance": instance.name,
            "method": "by hand",
            "assignments": [
                {"job": "a", "start": 0, "gpus": {"s0": [0], "s1": [0]}},
                {"job": "b", "start": 1, "gpus": {"s0": [1], "s1": [1]}},
            ],
        }
    )
    found = played(instance, apart)
    # They share links from 1 to 3, with 2 · 2 of the 4 + 2 slots of the jobs.
    assert found.flow.tolist() == [4, 2]
    assert (found.slowed.slots, found.slowed.values) == ((1, 3), (2, 0))
    assert found.shared == pytest.approx(4 / 6)


@given(seed=st.integers(0, 50), policy=st.sampled_from(["fifo", "fifo-backfill", "sjf"]))
@examples(10)
def test_queue_adds_up_to_queueing_and_metrics_agree(seed: int, policy: str) -> None:
    instance = rarmodel.generate("small", seed=seed, features={"releases": {"within": 0.5}})
    simulated = rarmodel.simulate(instance, policy)
    assert simulated.schedule is not None
    found = played(instance, simulated.schedule)
    assert found.waiting.integral(found.end) == pytest.approx(found.queueing.sum())
    assert found.flow.mean() == pytest.approx(simulated.metrics.mean_flow)
    assert found.queueing.mean() == pytest.approx(simulated.metrics.mean_queueing)
    assert found.stretch.max() == pytest.approx(simulated.metrics.max_stretch)
    assert found.bound == simulated.proven["total-flow"].bound
    assert found.held.integral(found.end) == pytest.approx(
        simulated.metrics.utilisation * found.gpus * found.end  # type: ignore[operator]
    )


def test_lines_over_time_are_means_of_the_schedules() -> None:
    instance = example()
    one = played(instance, schedule(instance))
    edges, values = over_time([one, one], lambda each: each.waiting, 8)
    assert edges.tolist() == list(range(9))
    assert values.tolist() == [0, 1, 1, 1, 0, 0, 0, 0, 0]
    assert np.mean(values[:-1]) * 8 == one.queueing.sum()


def page_of(instance: Instance, *policies: str) -> str:
    return rarmodel.report_simulations(instance, [schedule(instance, name) for name in policies])


def test_page_says_who_is_first_and_what_is_proven() -> None:
    text = Elements(page_of(example(restore=0.0), "fifo", "srtf")).text
    # Flows 4, 4, 2 beside 5, 1, 2; no schedule has a sum below 8.
    assert "srtf is best: the mean job completes 2.67 s after its release." in text
    assert "With fifo jobs take 0.667 s longer (25%), and they wait 1 s instead of 0.333 s." in text
    assert "It is proven that no schedule is better." in text
    assert "By tenant" in text
    assert "By job size" not in text  # There is one size.


def test_placements_tell_simulations_of_one_policy_apart() -> None:
    instance = example()
    both = []
    for placement in ("consolidate", "first-fit"):
        found = rarmodel.simulate(instance, "fifo", placement=placement).schedule
        assert found is not None
        both.append(Schedule.model_validate_json(rarmodel.to_json(found)))
    text = Elements(rarmodel.report_simulations(instance, both)).text
    assert "fifo, consolidate" in text
    assert "fifo, first-fit" in text
    assert labels_of(both) == ["fifo, consolidate", "fifo, first-fit"]
    assert labels_of([both[0], both[0]]) == ["fifo", "fifo (2)"]


def test_schedule_without_an_end_is_refused() -> None:
    instance = example()
    found = schedule(instance)
    part = found.model_copy(update={"assignments": found.assignments[:2]})
    with pytest.raises(UsageError, match="fifo: some job never completes"):
        rarmodel.report_simulations(instance, part)
    with pytest.raises(UsageError, match="no schedule to compare"):
        simulations_page("nothing", [])


@pytest.mark.parametrize("groups", [1, 2])
def test_page_renders_with_names_as_they_are_and_is_quiet(
    tmp_path: Path, launch: Callable[..., Any], groups: int
) -> None:
    instance = example()
    pairs: list[Any] = [(instance, schedule(instance))] * 2
    lines = {(f"{MARKUP} placement=x", MARKUP): pairs, ("b", "b"): pairs}
    path = tmp_path / "page.html"
    page = simulations_page(MARKUP, [Group(f"load={i}", lines) for i in range(groups)])
    path.write_text(page, encoding="utf-8")
    with opened(path, launch()) as shown:
        text = shown.page.locator("main").inner_text()
        assert MARKUP in text
        if groups > 1:
            shown.page.locator("#panel-1 > summary").click()
            shown.page.wait_for_selector("#group-1-stretch canvas")
            assert shown.page.locator("#group-0-flow").is_hidden()
        for name in ("flow", "time", "stretch"):
            assert shown.page.locator(f"#group-{groups - 1}-{name} canvas").is_visible()
        over_time = shown.texts(f"group-{groups - 1}-time")
        for title in ("Queue over time", "GPUs held", "Contention"):
            assert any(text.startswith(title) for text in over_time)
        assert shown.complaints == []
        assert shown.requests == []
