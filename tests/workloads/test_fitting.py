"""Iterations are fitted where the trace was measured: other rates change the time, not the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from traces import FIXTURES, imported, rows, seconds_of

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.model import job_extremes
from rarmodel.schema import Cluster, Instance
from rarmodel.workloads import Imported

# Rings of 16 GPUs on servers of 8, whose iterations wait for the network; and one within a server.
WIDE = rows("a,0,16,0,6000,,vgg19,16,", "b,0,16,0,3000,,bert,4,", "c,0,8,0,6000,,vgg16,16,")


def at(path: Path, gbps: float, measured: float | None = None, text: str = WIDE) -> Imported:
    return imported(path / "t.csv", text, rates={"network_gbps": gbps}, measured_gbps=measured)


def work(instance: Instance) -> dict[str, int]:
    return {job.name: job.iterations for job in instance.jobs}


def test_without_a_measured_network_a_faster_one_gets_more_work_in_the_same_time(
    tmp_path: Path,
) -> None:
    slow, fast = at(tmp_path, 10).instance, at(tmp_path, 100).instance
    assert seconds_of(slow) == seconds_of(fast)
    assert work(fast)["a"] > work(slow)["a"]


@pytest.mark.parametrize("gbps", [5.0, 10.0, 25.0, 100.0])
def test_measured_network_keeps_the_work_whatever_the_instances_rates(
    tmp_path: Path, gbps: float
) -> None:
    measured = at(tmp_path, 10)
    other = at(tmp_path, gbps, measured=10)
    assert work(other.instance) == work(measured.instance)
    # As if one changed the rate in the file.
    network = measured.instance.cluster.network.model_copy(update={"gbps": gbps})
    cluster = measured.instance.cluster.model_copy(update={"network": network})
    changed = measured.instance.model_copy(update={"cluster": cluster})
    assert seconds_of(changed) == seconds_of(other.instance)
    recorded, took = seconds_of(measured.instance), seconds_of(other.instance)
    assert took["c"] == recorded["c"] == 6000
    for name in "ab":
        assert (took[name] < recorded[name]) == (gbps > 10)
        assert (took[name] > recorded[name]) == (gbps < 10)


def test_time_follows_the_model_of_the_instances_network(tmp_path: Path) -> None:
    found = at(tmp_path, 100, measured=10).instance
    slot = found.time.slot_seconds
    there = {job.name: e for job, e in zip(found.jobs, job_extremes(found), strict=True)}
    before = at(tmp_path, 10).instance
    for job, extreme in zip(before.jobs, job_extremes(before), strict=True):
        slots = round({"a": 6000, "b": 3000, "c": 6000}[job.name] / slot)
        assert job.iterations == extreme.best_speed * slots
        assert there[job.name].least_slots == -(-job.iterations // there[job.name].best_speed)


def test_hours_are_told_of_both_networks(tmp_path: Path) -> None:
    account = at(tmp_path, 100, measured=10).account
    hours = (16 * 6000 + 16 * 3000 + 8 * 6000) / 3600
    assert account.gpu_hours_recorded == pytest.approx(hours)
    assert account.gpu_hours_measured == pytest.approx(hours)
    assert account.gpu_hours < hours
    assert account.lines()[-1] == (
        f"GPU hours: {hours:.1f} recorded, {hours:.1f} in slots of the network measured, "
        f"{account.gpu_hours:.1f} on the instance's"
    )
    assert at(tmp_path, 100).account.gpu_hours_measured is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Iterations are fitted to the network of 25 Gbit/s."),
        ({"measured_gbps": 40.0}, "Iterations are fitted to a network of 40 Gbit/s."),
    ],
)
def test_instance_says_to_which_network_it_is_fitted(
    options: dict[str, Any], sentence: str
) -> None:
    description = imported(FIXTURES / "philly.csv", **options).instance.description or ""
    assert sentence in description


def test_switches_are_no_part_of_the_measured_network(tmp_path: Path) -> None:
    table = tmp_path / "nodes.csv"
    table.write_text("ip,ASW\nn1,s1\nn2,s2\nn3,s1\n", encoding="utf-8")
    path = tmp_path / "t.csv"
    path.write_text(rows("a,0,24,0,6000,,vgg19,16,"), encoding="utf-8")

    def at_rates(gbps: float, over: float, measured: float | None) -> Instance:
        rates = {"network_gbps": gbps, "oversubscription": over}
        return rarmodel.import_trace(
            path, cluster=table, gpus_per_server=8, rates=rates, measured_gbps=measured
        ).instance

    assert "of the cluster" in (at_rates(10, 1, None).description or "")
    wide, narrow = at_rates(10, 1, 10), at_rates(10, 4, 10)
    assert isinstance(wide.cluster, Cluster)
    assert work(wide) == work(narrow)
    assert seconds_of(narrow)["a"] > seconds_of(wide)["a"] == 6000


def test_job_without_progress_on_the_instances_network_is_left_out(tmp_path: Path) -> None:
    account = at(tmp_path, 1e-4, measured=10).account
    (group,) = account.left_out
    assert group.reason == "an iteration takes longer than a slot on the instance's network"
    assert (account.used, group.rows) == (1, 2)
    assert group.gpu_hours == pytest.approx((16 * 6000 + 16 * 3000) / 3600)


@pytest.mark.parametrize("gbps", [0, -1, float("nan"), float("inf"), True, "10"])
def test_rate_that_is_none_is_refused(gbps: float) -> None:
    with pytest.raises(UsageError, match=r"measured.gbps"):
        imported(FIXTURES / "philly.csv", measured_gbps=gbps)
