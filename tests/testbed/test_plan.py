"""Plans: read, refused, and the one of `testbed measure`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rarmodel.defaults import TESTBED_SERVERS
from rarmodel.errors import InputError
from rarmodel.testbed import Plan, Ring, Together, read_plan, standard_plan

PLAN = """\
runs:
  - name: alone
    rings: [{servers: [0, 1], gradient_mb: 1}]
  - name: three
    rings:
      - {servers: [0, 0, 3], gradient_mb: 0.5, compute_ms: 20, name: first}
      - {servers: [3, 4], gradient_mb: 1}
      - {servers: [2, 2], gradient_mb: 1}
"""


def test_a_plan_is_read_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN, encoding="utf-8")
    plan = read_plan(path)
    assert [run.name for run in plan.runs] == ["alone", "three"]
    assert plan.servers == 5
    assert plan.runs[1].rings[0] == Ring(
        servers=(0, 0, 3), gradient_mb=0.5, compute_ms=20, name="first"
    )


def test_contention_counts_rings_on_the_most_shared_link() -> None:
    rings = [[0, 1], [1, 2], [2, 3], [2, 4], [5, 5], [5]]
    made = tuple(Ring(servers=tuple(servers), gradient_mb=1.0) for servers in rings)
    run = Together(name="across", rings=made)
    assert [ring.links for ring in made] == [(0, 1), (1, 2), (2, 3), (2, 4), (), ()]
    assert run.crowd == (2, 3, 3, 3, 1, 1)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("[0, 1]", "[0, 200]"), "runs[0].rings[0].servers[1]: 200"),
        (("[0, 1]", "[]"), "runs[0].rings[0].servers: "),
        (("name: three", "name: alone"), "runs[1].name: 'alone' is an earlier run; a name of"),
        (("gradient_mb: 0.5", "gradient_mb: 0"), "runs[1].rings[0].gradient_mb: 0"),
        (("compute_ms: 20", "compute: 20"), "runs[1].rings[0].compute: "),
        (("[3, 4]", str([3, 4] * 100)), "runs[1].rings: 205 workers; at most 200 are expected"),
    ],
)
def test_faults_of_a_plan_are_named_with_their_place(
    tmp_path: Path, change: tuple[str, str], line: str
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN.replace(*change), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert any(line in one and one.startswith(f"{path}: ") for one in caught.value.lines())


def test_the_standard_plan_fits_on_six_servers_and_has_both_parts() -> None:
    plan = standard_plan(5, 1)
    assert plan.servers == TESTBED_SERVERS
    assert sum(run.part == "test" for run in plan.runs) == 5
    assert {len(run.rings) for run in plan.runs if run.part == "fit"} == {1, 2, 3, 4, 5}


def test_mixes_are_those_of_the_seed() -> None:
    assert standard_plan(4, 1) == standard_plan(4, 1)
    mixes = [plan.runs[-4:] for plan in (standard_plan(4, 1), standard_plan(4, 2))]
    assert [run.rings for run in mixes[0]] != [run.rings for run in mixes[1]]
    assert standard_plan(0, 0).runs == standard_plan(3, 9).runs[:-3]


def test_a_plan_survives_json() -> None:
    plan = standard_plan(3, 0)
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
