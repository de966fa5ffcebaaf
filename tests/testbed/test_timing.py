"""The table of what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

import rarmodel
from rarmodel.calibration import read_measurements
from rarmodel.errors import RarmodelError, UsageError
from rarmodel.testbed import Plan, Ring, Together, measure, network, table_of
from rarmodel.testbed.real_rings import Iteration, Work


def run(name: str, part: str, *rings: tuple[list[int], float, float]) -> Together:
    made = [
        Ring(servers=tuple(servers), gradient_mb=mb, compute_ms=compute)
        for servers, mb, compute in rings
    ]
    return Together.model_validate({"name": name, "part": part, "rings": made})


PLAN = Plan(
    runs=(
        run("alone, first", "fit", ([0, 1], 1.0, 0.0)),
        run("two", "fit", ([0, 1], 1.0, 0.0), ([1, 2, 3], 1.0, 40.0)),
        run("inside", "test", ([0, 1], 1.0, 0.0), ([2, 2], 1.0, 0.0), ([2], 1.0, 5.0)),
    )
)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[list[Work]]:
    """No network; each ring takes 10 ms after its compute. Gives the works that were asked."""
    asked: list[list[Work]] = []

    def measured(works: list[Work], seconds: float, settle_seconds: float) -> list[list[Iteration]]:
        assert settle_seconds < seconds
        asked.append(works)
        found = []
        for work in works:
            whole = work.compute_seconds + 0.01
            found.append(
                [Iteration(n * whole, (n + 1) * whole - 0.01, (n + 1) * whole) for n in range(4)]
            )
        return found

    monkeypatch.setattr(network, "check_possible", lambda: None)
    monkeypatch.setattr(network, "servers_up", lambda: 4)
    monkeypatch.setattr("rarmodel.testbed.ring_timing.measured", measured)
    return asked


def test_the_table_is_read_by_calibrate(pretended: list[list[Work]], tmp_path: Path) -> None:
    told: list[str] = []
    timings = [one for each in measure(PLAN, progress=told.append) for one in each]
    assert told == ["run 1 of 3: alone, first", "run 2 of 3: two", "run 3 of 3: inside"]
    assert [[work.servers for work in works] for works in pretended] == [
        [(0, 1)],
        [(0, 1), (1, 2, 3)],
        [(0, 1), (2, 2), (2,)],
    ]
    path = tmp_path / "table.csv"
    path.write_text(table_of(timings), encoding="utf-8")
    table = read_measurements(str(path))
    assert not table.ignored
    assert [row.iteration_ms for row in table.rows] == pytest.approx([10, 10, 50, 10, 10, 15])
    assert [row.concurrent_jobs for row in table.rows] == [1, 2, 2, 1, 1, 1]
    assert [row.links for row in table.rows] == ["s0 s1", "s0 s1", "s1 s2 s3", "s0 s1", "", ""]
    assert [row.part for row in table.rows] == ["fit"] * 3 + ["test"] * 3
    rates = {"network_gbps": 0.1, "intra_server_gbps": 10.0}
    compared = rarmodel.compare_models(str(path), rates=rates)
    assert [len(one.tested) for one in compared.models] == [3] * 7


def test_a_plan_with_too_many_servers_is_refused(pretended: list[list[Work]]) -> None:
    wide = Plan(runs=(run("wide", "fit", ([0, 4], 1.0, 0.0)),))
    with pytest.raises(UsageError, match="the plan needs 5 servers; the testbed has 4"):
        list(measure(wide))
    assert not pretended


def test_options_of_a_network_beside_one_that_is_up_are_refused(
    pretended: list[list[Work]],
) -> None:
    with pytest.raises(UsageError, match="a testbed is up, with its own servers and rate"):
        list(measure(PLAN, mbit=50.0))
    assert not pretended


def test_a_ring_that_completes_nothing_is_an_error(
    pretended: list[list[Work]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "rarmodel.testbed.ring_timing.measured", lambda works, *_: [[] for _ in works]
    )
    with pytest.raises(RarmodelError, match="alone, first: a ring did not complete an iteration"):
        list(measure(PLAN))
