"""Constants by duty: found again, held where the data leave them open, with honest intervals."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from made_runs import CONSTANTS, LOSSY, RATES, made, rows_of
from measurements import nccl_output

import rarmodel
from rarmodel.calibration import Calibration, Parameter
from rarmodel.errors import InputError, UsageError


def fitted(rows: list[dict[str, Any]], model: str = "duty", **options: Any) -> Calibration:
    return rarmodel.calibrate(rows, rates=RATES, model=model, **options)


def values_of(found: Calibration) -> dict[str, float]:
    return {one.name: one.value for one in found.parameters}


def statuses_of(found: Calibration) -> list[str]:
    return [one.status for one in found.parameters]


@pytest.mark.parametrize(
    ("constants", "statuses", "held"),
    [
        (CONSTANTS, ["fitted", "held", "fitted"], "alpha is held at 0"),
        (LOSSY, ["held", "fitted", "fitted"], "concurrency is held at 1"),
    ],
)
def test_constants_are_those_that_made_the_rows(
    constants: dict[str, float], statuses: list[str], held: str
) -> None:
    found = fitted(made("duty", constants))
    assert values_of(found) == pytest.approx(constants, rel=1e-3, abs=1e-3)
    assert statuses_of(found) == statuses
    assert any(note.endswith(held) for note in found.notes)
    assert found.rms_error == pytest.approx(0.0, abs=1e-3)
    contention = found.sections()["contention"]
    assert contention["model"] == "duty"
    assert contention["concurrency"] == values_of(found)["concurrency"]


def test_standard_errors_are_the_scatter_of_the_estimates() -> None:
    truth = {**LOSSY, "overhead_ms_per_server": 20.0}
    estimates: dict[str, list[Parameter]] = {"alpha": [], "overhead_ms_per_server": []}
    for seed in range(30):
        for one in fitted(made("duty", truth, noise=0.05, seed=seed)).parameters:
            if one.name in estimates:
                estimates[one.name].append(one)
    for name, found in estimates.items():
        errors = [one.standard_error for one in found if one.standard_error is not None]
        assert len(errors) == 30
        assert 0.6 < mean(errors) / stdev(one.value for one in found) < 1.6
        hits = sum(
            one.low <= truth[name] <= one.high
            for one in found
            if one.low is not None and one.high is not None
        )
        assert hits >= 25


def slow_instance() -> rarmodel.Instance:
    """An instance by duty with ξ1 = 0.4, and with slots long enough for a slow network."""
    data = rarmodel.load_instance("two-servers").model_dump(mode="json", exclude_unset=True)
    data["time"]["slot_seconds"] = 100.0
    data["contention"] |= {"model": "duty", "concurrency": 0.4}
    return rarmodel.Instance.model_validate(data)


def test_model_and_constants_of_an_instance_are_the_defaults() -> None:
    rows = made("duty", {"concurrency": 0.4, "alpha": 0.5, "overhead_ms_per_server": 2.0})
    rates = {**RATES, "reduction_gbps": 1e9}
    found = rarmodel.calibrate(rows, instance=slow_instance(), rates=rates)
    assert values_of(found)["concurrency"] == 0.4
    assert values_of(found)["alpha"] == pytest.approx(0.5, rel=0.01)
    contention = found.applied(slow_instance()).contention
    assert (contention.model, contention.concurrency) == ("duty", 0.4)


def test_given_constants_stay_and_the_other_is_found() -> None:
    found = fitted(made("duty", LOSSY), contention={"alpha": 0.0})
    assert statuses_of(found)[:2] == ["at limit", "given"]
    found = fitted(made("duty", CONSTANTS), contention={"overhead_ms_per_server": 2.0})
    assert values_of(found) == pytest.approx(CONSTANTS, rel=1e-3, abs=1e-3)


def test_rows_without_contention_leave_its_constants_open() -> None:
    rows = rows_of([("01", 1.0, 0.0)], [("012", 2.0, 9.0)])
    rows[0]["iteration_ms"], rows[1]["iteration_ms"] = 81.0, 225.0
    found = fitted(rows)
    assert statuses_of(found) == ["held", "held", "fitted"]
    assert "the rows do not determine alpha: held at 0" in found.notes
    one = fitted(rows, contention={"concurrency": 1.0})
    assert "the rows do not determine alpha: held at 0" in one.notes
    assert not any("trade off" in note for note in one.notes)
    with pytest.raises(InputError, match="the rows determine none of alpha, concurrency"):
        fitted(rows, contention={"overhead_ms_per_server": 0.0})


def test_equal_rows_do_not_determine_two_constants() -> None:
    rows = [row | {"iteration_ms": 200.0} for row in rows_of([("01", 1.0, 0.0)] * 2)]
    found = fitted(rows)
    assert "the rows do not determine overhead_ms_per_server: held at 0" in found.notes
    assert values_of(found)["alpha"] == pytest.approx(0.5, rel=1e-3)  # 200 of 80·(1 + 1.5)


def test_what_ran_beside_must_be_known() -> None:
    rows = [{k: v for k, v in row.items() if k != "run"} for row in made("duty")]
    with pytest.raises(InputError, match="line 1: no run; its name is expected"):
        fitted(rows)
    assert fitted(rows, "count").contention is not None


def test_a_model_needs_a_table(tmp_path: Path) -> None:
    run = tmp_path / "run.txt"
    run.write_text(nccl_output(), encoding="utf-8")
    with pytest.raises(UsageError, match="model duty: constants of contention need a table"):
        rarmodel.calibrate(nccl_tests=[run], model="duty")


@pytest.mark.parametrize("model", ["max-min", "duty-fixed-point"])
def test_other_models_are_for_comparisons_only(model: str) -> None:
    with pytest.raises(UsageError, match=f"no model '{model}'; choose from count, duty$"):
        fitted(made("duty"), model)
