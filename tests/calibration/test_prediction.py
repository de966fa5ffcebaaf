"""Predictions are equation (8), and their derivatives are theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measurements import INTRA, NETWORK, REDUCTION, contention, iteration_ms, measured

from rarmodel.calibration import Measurement, made_measurements
from rarmodel.calibration.prediction import Cases, cases_of, predictions, slopes
from rarmodel.errors import InputError

PLACEMENT = st.tuples(st.integers(1, 16), st.integers(1, 16), st.integers(1, 9)).filter(
    lambda placement: placement[1] <= placement[0]
)


def cases(rows: list[Measurement]) -> Cases:
    return cases_of(made_measurements(rows), NETWORK, INTRA, REDUCTION)


@settings(deadline=None)
@given(
    st.lists(PLACEMENT, min_size=1, max_size=6),
    st.floats(0.05, 1),
    st.floats(0, 2),
    st.floats(0, 20),
    st.floats(0, 500),
    st.floats(0.1, 500),
)
def test_prediction_is_the_time_of_an_iteration(
    placements: list[tuple[int, int, int]],
    concurrency: float,
    alpha: float,
    overhead: float,
    gradient_mb: float,
    compute_ms: float,
) -> None:
    constants = contention(concurrency, alpha, overhead)
    rows = measured(constants, placements, gradient_mb=gradient_mb, compute_ms=compute_ms)
    values = {"concurrency": concurrency, "alpha": alpha, "overhead_ms_per_server": overhead}
    predicted = predictions(cases(rows), values)
    assert predicted == pytest.approx([row.measured for row in rows], rel=1e-14)


def test_completion_time_is_that_of_all_iterations_and_relative_time_that_over_the_time_alone() -> (
    None
):
    constants = contention(0.9, 0.3, 4.0)
    shape: dict[str, Any] = {"gpus": 8, "servers": 4, "gradient_mb": 200.0, "compute_ms": 30.0}
    alone, shared = (iteration_ms(constants, rings=p, **shape) for p in (1, 3))
    shape["concurrent_jobs"] = 3
    rows = [
        Measurement.model_validate(shape | {"completion_s": 1.0, "iterations": 500}),
        Measurement.model_validate(shape | {"relative_time": 1.0}),
    ]
    values = {"concurrency": 0.9, "alpha": 0.3, "overhead_ms_per_server": 4.0}
    assert predictions(cases(rows), values) == pytest.approx([0.5 * shared, shared / alone])


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(PLACEMENT, st.booleans(), st.booleans(), st.floats(0, 300)),
        min_size=1,
        max_size=5,
    ),
    st.floats(0.05, 1),
    st.floats(0.01, 2),
    st.floats(0.1, 20),
    st.floats(1, 500),
)
def test_slopes_are_those_of_small_changes(
    rows: list[tuple[tuple[int, int, int], bool, bool, float]],
    concurrency: float,
    alpha: float,
    overhead: float,
    compute_ms: float,
) -> None:
    table = cases(
        [
            Measurement.model_validate(
                {
                    "job": "a",
                    "gpus": gpus,
                    "servers": servers,
                    "concurrent_jobs": rings,
                    "gradient_mb": gradient_mb,
                    "compute_ms": 25.0 if known else None,
                    "relative_time" if relative else "iteration_ms": 1.0,
                }
            )
            for (gpus, servers, rings), known, relative, gradient_mb in rows
        ]
    )
    values = dict(zip(table.names, (concurrency, alpha, overhead, compute_ms), strict=False))
    found = slopes(table, values)
    levels = np.array([concurrency * p for p in table.rings])
    if (abs(levels - 1.0) < 1e-3).any():
        return  # At the kink itself there is no one derivative.
    for i, name in enumerate(table.names):
        step = 1e-6 * max(values[name], 1e-2)
        above, below = ({**values, name: values[name] + sign * step} for sign in (1, -1))
        change = np.log(predictions(table, above) / predictions(table, below)) / (2 * step)
        assert found[:, i] == pytest.approx(change, rel=1e-4, abs=1e-6)


def test_what_a_prediction_needs_is_asked_for_by_line() -> None:
    spread = {"gpus": 4, "servers": 2, "concurrent_jobs": 1, "gradient_mb": 1.0, "iteration_ms": 1}
    rows = [
        Measurement.model_validate(spread),
        Measurement.model_validate(spread | {"network_gbps": 10.0, "compute_ms": 1.0}),
        Measurement.model_validate(spread | {"servers": 1, "compute_ms": 1.0}),
        Measurement.model_validate(spread | {"gpus": 1, "servers": 1, "compute_ms": 1.0}),
        Measurement.model_validate(spread | {"gradient_mb": 0.0, "compute_ms": 1.0}),
        *[Measurement.model_validate(spread | {"job": "a"})] * 9,
    ]
    with pytest.raises(InputError) as caught:
        cases_of(made_measurements(rows), None, None, REDUCTION)
    assert caught.value.lines() == [
        (
            "measurements: network_gbps is needed by jobs on several servers: "
            "lines 1, 6, 7, 8, 9, 10, 11, 12, …"
        ),
        "measurements: intra_server_gbps is needed by jobs within one server: line 3",
        "measurements: job is needed where compute_ms is empty: line 1",
    ]
