"""What is drawn, beside the schedule and the verifier's report."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import examples
from documents import assignment_data, instance_data, instance_of, job_data, schedule_of, tree_data
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_segments import carried_out
from random_instances import instances, random_workers
from segmented import segmented

import rarmodel
from rarmodel.drawing import Bar, Drawing, draw
from rarmodel.drawing.grids import contention_grid, utilisation_grid
from rarmodel.files import parse_instance
from rarmodel.model import topology
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.schema import Assignment, Instance, Schedule
from rarmodel.verifier import verify


def drawing_of(instance: Instance, schedule: Schedule) -> Drawing:
    return draw(instance, schedule, verify(instance, schedule))


@st.composite
def problems(draw_: st.DrawFn, *, broken: bool) -> tuple[Instance, Schedule]:
    """An instance and a schedule: one job after another, or at random with whatever that breaks."""
    instance = draw_(instances())
    random = draw_(st.randoms(use_true_random=False))
    workers = random_workers(random, instance)
    jobs = len(instance.jobs)
    starts = [1000 * j for j in range(jobs)]
    assignments = list(assign_gpus(instance, starts, [s + 1000 for s in starts], workers))
    if broken:
        starts = [random.randint(0, 8) for _ in range(jobs)]
        assignments = [
            a.model_copy(update={"start": start})
            for a, start in zip(assignments, starts, strict=True)
        ]
        assignments = [fault(random, a) for a in assignments]
        random.shuffle(assignments)
        if random.random() < 0.3:
            assignments.append(assignments[0].model_copy(update={"start": random.randint(0, 8)}))
    return instance, Schedule(
        schema_version=1, instance=instance.name, method="x", assignments=tuple(assignments)
    )


def fault(random: Random, assignment: Assignment) -> Assignment:
    """An assignment, sometimes broken."""
    server, gpus = next(iter(assignment.gpus.items()))
    changes: list[dict[str, Any]] = [
        {"gpus": {**assignment.gpus, server: (*gpus, 99)}},
        {"gpus": {**assignment.gpus, server: gpus[1:]}},
        {"gpus": {**assignment.gpus, server: (*gpus[1:], gpus[0], gpus[0])}},
        {"gpus": {**assignment.gpus, "nowhere": (0,)}},
        {"start": -3},
        {"job": "nobody"},
    ]
    if random.random() < 0.75:
        return assignment
    return assignment.model_copy(update=random.choice(changes))


@given(problems(broken=False))
def test_bars_are_the_assignments(problem: tuple[Instance, Schedule]) -> None:
    drawing = drawing_of(*problem)
    servers = problem[0].cluster.servers
    held: list[dict[str, list[int]]] = [{} for _ in drawing.runs]
    for bar in drawing.bars:
        name = servers[bar.server].name
        held[bar.run].setdefault(name, []).extend(range(bar.first, bar.first + bar.gpus))
    for run, gpus, assignment in zip(drawing.runs, held, problem[1].assignments, strict=True):
        assert run.job == assignment.job
        assert run.start == assignment.start
        assert run.end == drawing.report.completion[run.job]
        assert {name: sorted(indices) for name, indices in assignment.gpus.items()} == gpus
        assert run.spread == (len(assignment.gpus) > 1)
        assert run.carried_out


@given(problems(broken=True))
def test_rings_and_gpus_are_those_of_the_verifiers_periods(
    problem: tuple[Instance, Schedule],
) -> None:
    drawing = drawing_of(*problem)
    last = 0
    for period in drawing.report.periods:
        for slot in {period.start, period.end - 1}:
            rings = {
                link.link: count for link in drawing.links if (count := at(link.rings, slot)) > 0
            }
            assert rings == dict(period.links)
        if last < period.start:
            assert at(drawing.held_in_all, last) == 0
        last = period.end
        if len({run.job for run in drawing.runs}) == len(drawing.runs):
            sizes = {job.name: job.size for job in problem[0].jobs}
            held = sum(sizes[job] for job in period.rings)
            assert at(drawing.held_in_all, period.start) == held
            for run in drawing.runs:
                if run.carried_out and run.job in period.rings:
                    assert run.rings >= period.rings[run.job].contention
    if any(run.carried_out and run.end is None for run in drawing.runs):
        return  # There is no period of what goes on for ever.
    most = max((max(p.links.values(), default=0) for p in drawing.report.periods), default=0)
    assert max(link.rings.greatest for link in drawing.links) == most
    assert max((run.rings for run in drawing.runs), default=0) == most


@examples(40)
@given(segmented())
def test_segments_hold_gpus_and_use_links_as_the_tiny_reading_says(
    problem: tuple[Instance, Schedule],
) -> None:
    instance, schedule = problem
    drawing = drawing_of(*problem)
    kinds = {violation.constraint for violation in drawing.report.violations}
    assume(not {"gang", "type", "index", "progress"} & kinds)
    assume((drawing.report.makespan or 100) < 60)
    course = carried_out(instance, schedule, 60)
    for slot, held in enumerate(course.held):
        for server, steps in zip(instance.cluster.servers, drawing.held, strict=True):
            gpus = sum(len(one.gpus.get(server.name, ())) for one in held.values())
            assert at(steps, slot) == gpus
        shown = {run.job for run in drawing.runs if run.start <= slot < (run.end or 0)}
        assert shown == set(held)
        up = {run.job for run in drawing.runs if run.restored <= slot < (run.end or 0)}
        assert up == set(course.speed[slot])
    for period in drawing.report.periods:
        for slot in {period.start, period.end - 1}:
            rings = {one.link: n for one in drawing.links if (n := at(one.rings, slot)) > 0}
            assert rings == dict(period.links)


def at(steps: rarmodel.drawing.Steps, slot: int) -> int:
    """The value in a slot."""
    return next(
        (v for s, v in zip(steps.slots[::-1], steps.values[::-1], strict=True) if s <= slot), 0
    )


@given(problems(broken=False))
def test_utilisation_integrates_to_the_gpu_slots_used(problem: tuple[Instance, Schedule]) -> None:
    instance, schedule = problem
    drawing = drawing_of(instance, schedule)
    report = drawing.report
    assume(report.makespan is not None)  # Every job makes progress.
    assert report.makespan is not None
    assert report.utilisation is not None
    for server, steps in zip(instance.cluster.servers, drawing.held, strict=True):
        slots = report.utilisation[server.name] * server.gpus * report.makespan
        assert steps.integral(report.makespan) == pytest.approx(slots)
    used = sum(
        job.size * ((report.completion[job.name] or 0) - a.start)
        for job in instance.jobs
        for a in schedule.assignments
        if a.job == job.name
    )
    assert drawing.held_in_all.integral(drawing.end) == pytest.approx(used)
    total = instance.cluster.total_gpus * report.makespan
    assert drawing.utilisation == pytest.approx(used / total)


@given(problems(broken=False))
def test_grids_keep_gpu_slots_and_the_most_rings(problem: tuple[Instance, Schedule]) -> None:
    drawing = drawing_of(*problem)
    servers = problem[0].cluster.servers
    end = drawing.end
    for rows in (1, 2, 100):
        grid = utilisation_grid(drawing, end, rows, 7)
        assert len(grid.names) <= rows
        gpus = [
            sum(server.gpus for server in servers[i : i + grid.per_row])
            for i in range(0, len(servers), grid.per_row)
        ]
        slots = (grid.values.mean(axis=1) * gpus).sum() * end
        assert slots == pytest.approx(drawing.held_in_all.integral(end))
        rings = contention_grid(drawing, end, rows, 7).values
        assert rings.max() == max(link.rings.greatest for link in drawing.links)


def test_blocks_of_adjacent_gpus_are_one_bar_each() -> None:
    instance = instance_of(job_data("a", gpus=4, iterations=20), servers=(5, 2))
    schedule = schedule_of(assignment_data("a", 3, s0=[4, 0, 1], s1=[1]))
    drawing = drawing_of(instance, schedule)
    assert drawing.bars == (Bar(0, 0, 0, 2), Bar(0, 0, 4, 1), Bar(0, 1, 1, 1))
    assert drawing.offsets == (0, 5)
    assert drawing.runs[0].servers == (0, 1)
    assert drawing.end == 5


def test_ring_within_a_rack_uses_no_link_above_it() -> None:
    links = [("s0", "rack"), ("s1", "rack"), ("s2", "core"), ("rack", "core")]
    data = tree_data(*links, servers=(1, 1, 1))
    data["jobs"] = [job_data("a", gpus=2)]
    instance = parse_instance(data)
    drawing = drawing_of(instance, schedule_of(assignment_data("a", 0, s0=[0], s1=[0])))
    counts = {link.link: link.rings.greatest for link in drawing.links}
    assert counts == {"s0": 1, "s1": 1, "s2": 0, "rack": 0}
    assert [link.gbps for link in drawing.links] == [
        link.gbps for link in topology(instance.cluster).links
    ]


def test_what_cannot_be_carried_out_is_drawn_but_holds_nothing() -> None:
    instance = instance_of()
    schedule = schedule_of(
        assignment_data("a", 1, s0=[0, 7], s9=[0]), assignment_data("b", 0, s1=[0])
    )
    drawing = drawing_of(instance, schedule)
    broken, sound = drawing.runs
    assert (broken.carried_out, broken.end, broken.faulty) == (False, None, True)
    assert (sound.carried_out, sound.end, sound.faulty) == (True, 1, False)
    assert drawing.bars == (Bar(0, 0, 0, 1), Bar(1, 1, 0, 1))
    assert drawing.held_in_all.greatest == 1
    assert drawing.shown_until(broken, 40) == 2.0
    assert drawing.end == 2


def test_start_far_beyond_the_horizon_of_what_cannot_run_does_not_stretch_the_picture() -> None:
    instance = instance_of(horizon=20)
    schedule = schedule_of(assignment_data("a", 10**12, s0=[0]), assignment_data("b", 0, s1=[0]))
    assert drawing_of(instance, schedule).end == 20


def test_job_that_never_completes_goes_on_to_the_end() -> None:
    data = instance_data(
        *(job_data(name, gpus=2, gradient_mb=100.0, iterations=1) for name in "ab"), horizon=50
    )
    data["time"]["slot_seconds"] = 0.25
    instance = parse_instance(data)
    schedule = schedule_of(
        assignment_data("a", 0, s0=[0], s1=[0]), assignment_data("b", 0, s0=[1], s1=[1])
    )
    drawing = drawing_of(instance, schedule)
    assert [v.constraint for v in drawing.report.violations] == ["progress", "progress"]
    assert [run.end for run in drawing.runs] == [None, None]
    assert drawing.shown_until(drawing.runs[0], 30) == 30
    assert drawing.links[0].rings.greatest == 2


def test_empty_schedule_has_nothing_but_an_axis() -> None:
    schedule = Schedule(schema_version=1, instance="example", method="x", assignments=())
    drawing = drawing_of(instance_of(), schedule)
    assert drawing.bars == ()
    assert drawing.end == 1
    assert drawing.utilisation is None


def test_jobs_that_share_a_gpu_have_lanes_of_its_slices() -> None:
    parts = {"a": (1, 20), "b": (2, 40), "c": (1, 20), "d": (2, 20)}
    jobs = [
        job_data(name, slices=slices, iterations=iterations, sensitivity=0)
        for name, (slices, iterations) in parts.items()
    ]
    data = instance_data(*jobs)
    data["cluster"]["gpu_slices"] = 4
    # d takes the slices that a and c leave, on both sides of b.
    starts = {"a": 0, "b": 0, "c": 0, "d": 2}
    placed = [assignment_data(name, start, s0=[0]) for name, start in starts.items()]
    drawing = drawing_of(parse_instance(data), schedule_of(*placed))
    assert drawing.report.feasible
    lanes = [(bar.run, bar.lane and bar.lane[:2]) for bar in drawing.bars]
    assert lanes == [(0, (0, 1)), (1, (1, 2)), (2, (3, 1)), (3, (0, 1)), (3, (3, 1))]
    assert drawing.edges_of(drawing.bars[1], large=False) == (0.25, 0.75)
    assert drawing.parts == 4
    assert [at(drawing.held_in_all, slot) for slot in (0, 1, 2, 3, 4)] == [4, 4, 4, 4, 0]
    assert drawing.utilisation == 16 / (4 * 4 * 4)
