"""`rarmodel kubernetes read` and `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from invocation import Invoke

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
KUEUE = str(EXAMPLES / "kubernetes-kueue")


def test_read_tells_of_every_object_and_writes_an_instance(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    done = invoke("kubernetes", "read", "--from", KUEUE, "--output", str(path))
    assert done.code == 0
    assert done.out.splitlines()[2] == "56 objects: 40 used, 16 left out"
    assert invoke("describe", str(path)).code == 0


def test_read_prints_json_for_programs(invoke: Invoke) -> None:
    done = invoke("kubernetes", "read", "--from", KUEUE, "--json")
    found = done.json()
    left = sum(map(len, found["left_out"].values()))
    assert found["objects"] == len(found["used"]) + left == 56
    assert found["now"] == "2026-11-23T09:58:00+00:00"


def test_options_reach_the_reading(invoke: Invoke) -> None:
    done = invoke(
        *("kubernetes", "read", "--from", KUEUE, "--output", "-", "--slot-seconds", "30"),
        *("--now", "2026-11-23T10:00:00Z", "--levels", "cloud.provider.com/topology-block"),
        *("--default-model", "none", "--cluster", "network-gbps=100", "--objective", "makespan"),
    )
    made = done.json()
    assert made["time"] == {"slot_seconds": 30.0, "origin": "2026-11-23T10:00:00Z"}
    assert made["objective"] == "makespan"
    assert {one["gbps"] for one in made["cluster"]["network"]["links"] if "level" not in one} == {
        100.0
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "missing"], "missing: cannot be read"),
        (["--from", KUEUE, "--now", "soon"], "now 'soon'"),
        (["--from", KUEUE, "--profiles", "missing"], "missing: cannot be read"),
    ],
)
def test_bad_input_is_one_line(invoke: Invoke, options: list[str], message: str) -> None:
    done = invoke("kubernetes", "read", *options)
    assert done.code == 2
    assert message in done.lines[0]


def test_compare_has_both_schedulers_and_the_plan_with_one_bound(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.json"
    invoke("kubernetes", "read", "--from", KUEUE, "--default-seconds", "14400", "--output", path)
    done = invoke("kubernetes", "compare", path, "--time-limit", 2, "--threads", 1, "--json")
    rows = {row["method"]: row for row in done.json()}
    assert [*rows] == ["kueue", "kueue-unconstrained", "volcano", "search"]
    assert all(row["verified"] for row in rows.values())
    assert rows["search"]["objective"] <= rows["kueue"]["objective"]
