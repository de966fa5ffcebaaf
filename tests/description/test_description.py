"""An instance in numbers, against what the model and the bounds say of it."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from depth import examples
from documents import instance_data, instance_of, job_data, tree_data
from hypothesis import given
from random_instances import instances
from wide_instances import wide_instances

import rarmodel
from rarmodel.bounds import all_bounds, best_bound, value_bounds
from rarmodel.bounds.least_demands import least_areas
from rarmodel.description import Level, describe
from rarmodel.files import parse_instance
from rarmodel.model import job_extremes, least_slots_by_placement, slowest_alone, used
from rarmodel.schema import Instance


@examples(40)
@given(instances(jobs=5))
def test_everything_is_counted_once(instance: Instance) -> None:
    found = describe(instance)
    assert [job.name for job in found.jobs] == [job.name for job in instance.jobs]
    assert sum(size.jobs for size in found.sizes) == len(instance.jobs)
    assert sum(gpus * count for gpus, count in found.servers) == instance.cluster.total_gpus
    assert sum(level.links for level in found.levels) == (
        len(instance.cluster.servers)
        if instance.cluster.network.kind == "star"
        else len(instance.cluster.network.links)
    )
    gpus_of = [job.gpus for job in found.jobs if isinstance(job.gpus, int)]
    work = sum(gpus * job.least_slots for gpus, job in zip(gpus_of, found.jobs, strict=True))
    assert sum(size.gpu_slots for size in found.sizes) == work
    assert found.load == work / instance.cluster.total_gpus
    for size in found.sizes:
        jobs = [job for job in found.jobs if job.gpus == size.gpus]
        assert size.least_slots[0] == min(job.least_slots for job in jobs)
        assert size.least_slots[1] == max(job.least_slots for job in jobs)
        assert (size.most_slots is None) == any(job.most_slots is None for job in jobs)


@examples(40)
@given(instances(jobs=5))
def test_times_are_those_of_the_model(instance: Instance) -> None:
    for job, extreme, least, slowest in zip(
        describe(instance).jobs,
        job_extremes(instance),
        least_slots_by_placement(instance),
        slowest_alone(instance),
        strict=True,
    ):
        assert (job.least_slots, job.most_slots) == (extreme.least_slots, extreme.most_slots)
        assert (job.packed, job.spread, job.slowest_alone) == (least.packed, least.spread, slowest)
        assert job.least_slots == min(n for n in (job.packed, job.spread) if n is not None)
        assert isinstance(job.gpus, int)
        assert job.servers <= job.gpus


@examples(40)
@given(instances(jobs=5))
def test_plain_data_is_json_and_lines_are_lines(instance: Instance) -> None:
    found = describe(instance)
    summary = found.summary(jobs=True)
    assert json.loads(json.dumps(summary, allow_nan=False)) == json.loads(json.dumps(summary))
    assert found.summary() == {**summary, "each_job": None}
    assert all("\n" not in f"{name}{value}" for name, value in found.lines().items())
    assert len(list(found.job_rows())) == len(instance.jobs)


def test_every_quick_bound_is_named() -> None:
    instance = rarmodel.load_instance("rack-tree")
    found = rarmodel.describe(instance)
    assert found.bounds == all_bounds(instance)
    assert found.best == best_bound(instance)
    assert [row["lower bound"] for row in found.bound_rows()] == [
        "longest job",
        "area",
        "wide jobs",
        "long jobs",
        "shared links",
    ]


def test_a_job_is_described_by_where_it_runs() -> None:
    # 2 GPUs, 10 iterations a slot within a server. Over the link of 8 Gbit/s an iteration
    # exchanges 2·100 MB·8e6·(1/2) = 8e8 bit, which take 0.1 s more: 5 iterations a slot.
    job = job_data("a", gpus=2, iterations=20, gradient_mb=100.0)
    data = instance_data(job, job_data("b"), horizon=9)
    data["cluster"] |= {"intra_server_gbps": 1e9, "reduction_gbps": 1e9}
    data["cluster"]["network"]["gbps"] = 8.0
    found = describe(parse_instance(data))
    ring, lone = found.jobs
    assert (ring.least_slots, ring.servers) == (3, 1)  # 9 a slot: 0.1 s and a little
    assert (ring.packed, ring.spread, ring.slowest_alone) == (3, 5, 5)
    assert (lone.packed, lone.spread, lone.slowest_alone) == (1, None, 1)
    assert found.load == (2 * 3 + 1) / 4


def test_levels_of_a_tree_are_told_from_the_root() -> None:
    links = [("s0", "a"), ("s1", "a"), ("a", "core"), ("b", "core"), ("s2", "b")]
    data = tree_data(*links, servers=(4, 4, 2))
    rates = {"s0": 25.0, "s1": 50.0, "s2": 10.0, "a": 30.0, "b": 40.0}
    for link in data["cluster"]["network"]["links"]:
        link["gbps"] = rates[link["node"]]
    found = describe(parse_instance(data))
    assert found.levels == (Level(1, 2, (30.0, 40.0)), Level(2, 3, (10.0, 50.0)))
    assert found.oversubscription == (0.25, 2.5)
    assert found.lines()["network"] == (
        "tree, links from the root: 2 × 30 to 40 Gbit/s, 3 × 10 to 50 Gbit/s; "
        "oversubscription 0.25 to 2.5"
    )
    assert found.lines()["servers"] == "2 of 4 GPUs, 1 of 2 GPUs"


def test_a_long_chain_of_switches_is_no_trouble() -> None:
    names = ["s0", *(f"n{i}" for i in range(3000))]
    links = list(pairwise(names))
    found = describe(parse_instance(tree_data(*links, ("s1", "n2999"), servers=(4, 4))))
    assert len(found.levels) == 3000


def test_what_is_infeasible_at_sight_is_said() -> None:
    instance = instance_of(job_data("slow", iterations=500), horizon=20)
    found = describe(instance)
    assert found.infeasible
    assert found.reasons == ("longer than the horizon of 20 slots even alone: job 'slow'",)
    assert found.lines()["infeasible"] == found.reasons[0]
    fine = describe(instance_of())
    assert not fine.infeasible
    assert fine.reasons == ()
    assert "infeasible" not in fine.lines()


def test_a_ring_that_others_can_stop_is_said() -> None:
    # An exchange takes 0.8 s alone over the link, and more than a slot of 1 s beside another ring.
    jobs = [job_data(name, gpus=2, gradient_mb=1000.0) for name in "ab"]
    found = describe(instance_of(*jobs, servers=(2, 2), horizon=100))
    assert [job.most_slots for job in found.jobs] == [None, None]
    assert found.lines()["contention costs"] == "a job can come to a halt"
    assert found.size_rows()[0]["with contention"] == "-"


def test_it_shows_in_a_notebook_whatever_the_names_are() -> None:
    data = instance_data(horizon=9)
    data["name"] = data["description"] = "<b>bold</b>"
    shown = describe(parse_instance(data))._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown
    assert "longest job" in shown


def test_jobs_become_a_data_frame() -> None:
    pytest.importorskip("pandas")
    found = rarmodel.describe("paper-160")
    table = found.to_frame()
    assert table["least_slots"].tolist() == [job.least_slots for job in found.jobs]
    assert table["name"].tolist() == [job.name for job in found.jobs]


@examples(30)
@given(wide_instances())
def test_wider_instance_names_all_that_it_uses(instance: Instance) -> None:
    found = describe(instance)
    uses = {use.name: use for use in found.uses}
    for name, place in used(instance).items():
        assert uses[name].place == place
    assert all(use.detail for use in found.uses)
    assert ("due slots" in uses) == any(job.due is not None for job in instance.jobs)
    assert ("prices" in uses) == (instance.cluster.prices_per_gpu_hour is not None)
    assert ("earlier submissions" in uses) == any(job.release < 0 for job in instance.jobs)
    assert found.load == sum(least_areas(instance)) / instance.cluster.total_gpus
    assert sum(size.jobs for size in found.sizes) == len(instance.jobs)
    assert [one.name for one, _ in found.objectives] == list(instance.objectives)
    assert tuple(bound for _, bound in found.objectives) == value_bounds(instance)
    summary = found.summary(jobs=True)
    assert json.loads(json.dumps(summary, allow_nan=False)) == json.loads(json.dumps(summary))
    lines = found.lines()
    assert ("lower bound" in lines) == (instance.objectives == ("makespan",))
    assert all(name in lines for name in instance.objectives if name != "makespan")


def test_amounts_of_what_an_instance_uses() -> None:
    data = instance_data(
        job_data(
            "a",
            release=-4,
            weight=3,
            tenant="u",
            preemptible=False,
            checkpoint_iterations=3,
        ),
        job_data(
            "b",
            release=7,
            after=["a"],
            deadline=18,
            tenant="t",
            priority=2,
            checkpoint_iterations=4,
        ),
        job_data("c", [1, 2], release=9, after=["b"], servers=["s1"], global_batch_size=2),
        job_data("d", due=9, spread={"max_servers": 1}, checkpoint_iterations=None),
    )
    del data["jobs"][2]["batch_size"]
    data["tenants"] = [
        {"name": "t", "gpus": 3, "parent": "u"},
        {"name": "u", "gpus": 4, "guaranteed": 1},
    ]
    data["cluster"]["servers"][0] |= {"gpu_type": "A100", "intra_server_gbps": 600.0}
    data["cluster"]["servers"][1]["gpu_type"] = "V100"
    data["cluster"]["reservations"] = [
        {"server": "s0", "gpus": 2, "from": 3, "to": 6},
        {"server": "s1", "gpus": 1, "from": 5},
    ]
    data["cluster"]["prices_per_gpu_hour"] = {"A100": 3.0, "V100": 1.25}
    data["preemption"] = {"restore_seconds": 30}
    data["objective"] = ["max-flow", "cost"]
    found = describe(parse_instance(data))
    assert {use.name: use.detail for use in found.uses} == {
        "objectives other than the makespan": "max-flow, then cost",
        "releases": "2 of 4 jobs, at slots 7 to 9",
        "deadlines": "1 of 4 jobs, at slot 18",
        "dependencies": "2 of 4 jobs wait for others, 3 jobs in a row",
        "server lists": "1 of 4 jobs may use 1 of 2 servers",
        "spreads": "1 job: 1 server",
        "ring sizes": "1 of 4 jobs are moldable, with 1 to 2 GPUs",
        "rates within servers": "1 server with 600 Gbit/s",
        "reservations": "2 on 2 servers, from slot 3 on, 6 GPU slots and 1 for ever",
        "quotas": "'t' 3 GPUs, 1 job; 'u' 4 GPUs, 2 jobs",
        "preemption": "jobs may be interrupted, and take 30 s to continue; "
        "1 job may not; 1 job with checkpoints every 4 iterations; 1 job without checkpoints",
        "earlier submissions": "1 of 4 jobs, at slot -4",
        "due slots": "1 of 4 jobs, at slot 9",
        "weights": "weights 1 to 3",
        "priorities": "1 job of 2, 3 jobs of 0",
        "guarantees": "'u' 1 GPU",
        "prices": "A100 3, V100 1.25 per GPU-hour",
    }
    lines = found.lines()
    assert lines["GPUs"] == "4: 2 A100, 2 V100"
    assert found.summary()["gpu_types"] == {"A100": 2, "V100": 2}
    assert lines["max-flow"].startswith("at least ")


def test_horizon_may_be_absent() -> None:
    data = instance_data()
    del data["time"]["horizon"]
    lines = describe(parse_instance(data)).lines()
    assert describe(parse_instance(data)).summary()["gpu_types"] == {}
    assert lines["horizon"] == "none; 3 slots (3 s) are enough"
    assert "of the horizon" not in lines["load"]
