"""A calibration as a whole: rates, tables of others, and what becomes of an instance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from documents import instance_data, instance_of, tree_data
from measurements import RATES, contention, measured, nccl_output

import rarmodel
from rarmodel.calibration import Calibration, Measurement
from rarmodel.errors import InputError, UsageError

PLACEMENTS = [(2, 1, 1), (2, 2, 1), (4, 2, 2), (8, 4, 4), (8, 2, 6), (8, 8, 8)]
CONSTANTS = contention(0.8, 0.3, 5.0)

SHARED = {2: 2.12, 4: 3.91, 8: 7.74, 16: 14.64}
SHARED_SMALL = {2: 1.51, 4: 2.81, 8: 5.74, 16: 10.9}
"""All-reduces of 40 and 10 MiB between two hosts over 1 GbE, k at once, relative to one alone:
averages of Wang, Shi, Wang, Chu, arXiv:2002.10105."""


def shared(times: dict[int, float], mebibytes: int) -> list[dict[str, Any]]:
    return [
        {
            "gpus": 2,
            "servers": 2,
            "concurrent_jobs": k,
            "gradient_mb": mebibytes * 1.048576,
            "compute_ms": 0.0,
            "network_gbps": 1.0,
            "relative_time": time,
        }
        for k, time in times.items()
    ]


def values(found: Calibration) -> dict[str, float]:
    return {parameter.name: parameter.value for parameter in found.parameters}


@pytest.mark.parametrize(
    ("times", "mebibytes", "concurrency", "error"),
    [(SHARED, 40, 0.979, 0.053), (SHARED_SMALL, 10, 0.714, 0.038)],
)
def test_measured_all_reduces_share_a_link_without_further_loss(
    times: dict[int, float], mebibytes: int, concurrency: float, error: float
) -> None:
    """α is 0; for small messages ξ1 is below 1. No row is off by more than 8 %."""
    found = rarmodel.calibrate(shared(times, mebibytes))
    assert values(found)["alpha"] == 0
    assert values(found)["concurrency"] == pytest.approx(concurrency, abs=1e-3)
    assert found.rms_error == pytest.approx(error, abs=1e-3)
    assert max(abs(residual.error) for residual in found.residuals) < 0.08


def test_alpha_of_each_measured_row_alone_is_that_of_the_published_table() -> None:
    """With ξ1 = 1: from 0.12 with two rings down to below 0, where α stands at 0."""
    alphas = []
    for row in shared(SHARED, 40):
        found = rarmodel.calibrate([row], contention={"concurrency": 1.0})
        alphas.append(values(found)["alpha"])
    assert alphas == pytest.approx([0.12, 0.0, 0.0, 0.0], abs=1e-6)


@pytest.mark.parametrize(
    ("unit", "note"),
    [
        (1.0, None),
        (1e-3, "6 of 6 rows are off by more than a factor of 2, the first in line 1; are sizes in"),
        (1e3, "alpha is 1"),
    ],
)
def test_times_in_a_wrong_unit_are_remarked_on(unit: float, note: str | None) -> None:
    rows = measured(CONSTANTS, [(4, 4, p) for p in (1, 2, 3, 4, 6, 8)], noise=lambda: unit)
    notes = rarmodel.calibrate(rows, rates=RATES).notes
    asked = [line for line in notes if "are sizes in MB" in line]
    assert len(asked) == (note is not None)
    assert note is None or asked[0].startswith(note)


PAIR = 675 / 295
"""The paper's introduction: 295 s alone, 675 s with four such jobs over 10 Gbit/s servers."""


@pytest.mark.parametrize(
    ("part", "concurrency", "alpha"),
    [
        (0.2, 1.0, (PAIR - 1) / 0.2 / 3 - 1),
        (0.3, 1.0, (PAIR - 1) / 0.3 / 3 - 1),
        ((PAIR - 1) / 3, 1.0, 0.0),
        (0.7, (1 + (PAIR - 1) / 0.7) / 4, 0.0),
        (1.0, PAIR / 4, 0.0),
    ],
)
def test_published_pair_fixes_one_constant_once_the_part_of_the_exchange_is_known(
    part: float, concurrency: float, alpha: float
) -> None:
    """f(4) = 1 + (675/295 − 1)/part; with ξ1 = 1 it is 4 + 3α, with α = 0 it is 4·ξ1."""
    exchange_ms = 2 * 100 * 8e6 * 0.75 / 10e9 * 1e3
    row = {
        "gpus": 4,
        "servers": 4,
        "concurrent_jobs": 4,
        "gradient_mb": 100.0,
        "compute_ms": exchange_ms * (1 - part) / part,
        "relative_time": PAIR,
    }
    found = rarmodel.calibrate(
        [row], rates={"network_gbps": 10.0}, contention={"overhead_ms_per_server": 0.0}
    )
    assert values(found)["concurrency"] == pytest.approx(concurrency, abs=1e-6)
    assert values(found)["alpha"] == pytest.approx(alpha, abs=1e-6)
    assert found.residuals[0].error == pytest.approx(0, abs=1e-6)


def test_published_pair_alone_determines_nothing() -> None:
    row = {
        "job": "vgg16",
        "gpus": 4,
        "servers": 4,
        "gradient_mb": 100.0,
        "iterations": 1000,
    }
    rows = [
        {**row, "concurrent_jobs": 1, "completion_s": 295.0},
        {**row, "concurrent_jobs": 4, "completion_s": 675.0},
    ]
    found = rarmodel.calibrate(rows, rates={"network_gbps": 10.0})
    # One constant is fitted beside the compute time, and nothing is left to test them by.
    assert found.degrees_of_freedom == 0
    assert sorted(p.name for p in found.parameters if p.status == "held") == [
        "concurrency",
        "overhead_ms_per_server",
    ]


def test_rates_of_nccl_tests_are_those_of_the_predictions(tmp_path: Path) -> None:
    between, within = tmp_path / "between.txt", tmp_path / "within.txt"
    between.write_text(nccl_output(servers=2, gbps=10.0), encoding="utf-8")
    within.write_text(nccl_output(servers=1, gbps=100.0), encoding="utf-8")
    rows = measured(CONSTANTS, PLACEMENTS)
    found = rarmodel.calibrate(rows, nccl_tests=[between, within], rates={"reduction_gbps": 1e6})
    assert found.rates.network_gbps == pytest.approx(10.0, rel=1e-3)
    assert found.rates.intra_server_gbps == pytest.approx(100.0, rel=1e-3)
    assert values(found)["concurrency"] == pytest.approx(0.8, rel=0.01)
    assert found.given == ("reduction_gbps", "network_gbps", "intra_server_gbps")
    assert len(found.messages) == 2 * 2 * 7
    assert all(abs(message.error) < 2e-3 for message in found.messages)


def test_nccl_tests_alone_give_rates_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(nccl_output(servers=2, gbps=40.0), encoding="utf-8")
    found = rarmodel.calibrate(nccl_tests=[path])
    assert (found.contention, found.parameters, found.rms_error) == (None, (), None)
    network = {"kind": "star", "gbps": pytest.approx(40.0, rel=1e-3)}
    assert found.sections() == {"cluster": {"network": network}}
    assert found.notes == (
        "reduction_gbps is not given: the reduction counts as part of the exchange",
    )


def test_instance_has_rates_and_the_constants_that_are_left_open() -> None:
    instance = instance_of()
    cluster = instance.cluster
    rows = measured(CONSTANTS, [(2, 1, 1), (2, 2, 1), (4, 4, 1)])
    rates = {"network_gbps": 10.0, "intra_server_gbps": 100.0}
    found = rarmodel.calibrate(rows, instance=instance, rates=rates)
    assert found.rates.reduction_gbps == cluster.reduction_gbps
    assert values(found)["alpha"] == instance.contention.degradation.alpha
    assert values(found)["overhead_ms_per_server"] == pytest.approx(5.0)
    own = rarmodel.calibrate(rows, instance=instance)
    assert own.rates.intra_server_gbps == cluster.intra_server_gbps
    assert own.given == ()


def test_copy_of_an_instance_has_what_was_calibrated_and_all_else_as_it_was() -> None:
    instance = instance_of()
    found = rarmodel.calibrate(measured(CONSTANTS, PLACEMENTS), instance=instance, rates=RATES)
    copy = found.applied(instance)
    assert copy.contention == found.contention
    assert copy.cluster.intra_server_gbps == RATES["intra_server_gbps"]
    assert copy.cluster.network.model_dump() == {"kind": "star", "gbps": RATES["network_gbps"]}
    assert (copy.jobs, copy.time, copy.name) == (instance.jobs, instance.time, instance.name)
    assert copy.cluster.servers == instance.cluster.servers


def test_links_of_a_tree_keep_their_rates() -> None:
    data = tree_data(("s0", "r0"), ("s1", "r0"))
    instance = rarmodel.Instance.model_validate(data)
    found = rarmodel.calibrate(measured(CONSTANTS, PLACEMENTS), instance=instance, rates=RATES)
    assert found.applied(instance).cluster.network == instance.cluster.network
    assert "network_gbps is ignored: the links of a tree keep their rates" in found.notes


def test_copy_in_which_a_job_would_be_too_slow_is_refused() -> None:
    instance = rarmodel.Instance.model_validate(instance_data())
    rows = measured(contention(0.8, 0.3, 5000.0), PLACEMENTS)
    with pytest.raises(InputError, match=r"^example, calibrated: .*slot too short"):
        rarmodel.calibrate(rows, instance=instance, rates=RATES).applied(instance)


def test_sections_are_those_of_an_instance() -> None:
    found = rarmodel.calibrate(measured(CONSTANTS, PLACEMENTS), rates=RATES)
    data = instance_data()
    sections = found.sections()
    data["cluster"] |= sections["cluster"]
    data["contention"] = sections["contention"]
    assert rarmodel.Instance.model_validate(data).contention == found.contention


def test_summary_is_json_without_nan() -> None:
    found = rarmodel.calibrate(measured(CONSTANTS, PLACEMENTS), rates=RATES)
    summary = json.loads(json.dumps(found.summary(), allow_nan=False))
    assert summary["contention"]["concurrency"] == pytest.approx(0.8)
    assert [row["line"] for row in summary["rows"]] == list(range(1, 7))
    assert {row["quantity"] for row in summary["rows"]} == {"iteration_ms"}


def test_rows_can_be_records_or_plain_data() -> None:
    rows = measured(CONSTANTS, PLACEMENTS)
    plain = [row.model_dump() for row in rows]
    assert isinstance(rows[0], Measurement)
    one, other = (rarmodel.calibrate(each, rates=RATES) for each in (rows, plain))
    assert one.contention == other.contention


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": None}, "no measurements; give a table or the output of nccl-tests"),
        ({"rates": {"nope": 1.0}}, "no rate nope; choose from intra_server_gbps, network_gbps, "),
        ({"rates": {"network_gbps": 0.0}}, "network_gbps 0.0: it must be above 0"),
        ({"contention": {"beta": 1.0}}, "no constant beta; choose from concurrency, alpha, "),
        ({"contention": {"alpha": -1.0}}, "alpha -1.0: it must be at least 0"),
        ({"contention": {"alpha": float("nan")}}, "alpha nan: it must be at least 0"),
        ({"contention": {"concurrency": 0.0}}, "concurrency 0.0: it must be above 0 and at most 1"),
        ({"message_mb": (5.0, 1.0)}, "messages of 5 to 1 MB: least and greatest expected"),
    ],
)
def test_options_without_meaning_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        rarmodel.calibrate(**({"table": measured(CONSTANTS, PLACEMENTS)} | options))
    assert str(caught.value).startswith(message)


def test_rate_that_is_given_and_measured_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(nccl_output(), encoding="utf-8")
    with pytest.raises(UsageError, match=r"^network_gbps: given and also measured by nccl-tests"):
        rarmodel.calibrate(nccl_tests=[path], rates={"network_gbps": 10.0})
    with pytest.raises(UsageError, match=r"^alpha: constants of contention need a table"):
        rarmodel.calibrate(nccl_tests=[path], contention={"alpha": 1.0})
