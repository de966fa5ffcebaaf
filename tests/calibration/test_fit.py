"""Constants that made the data are found again, and what data cannot tell is held and named."""

from __future__ import annotations

import json
import random
from functools import partial
from typing import Any

import numpy as np
import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from measurements import INTRA, NETWORK, RATES, REDUCTION, contention, measured

import rarmodel
from rarmodel.calibration import Calibration, Measurement, Parameter, made_measurements
from rarmodel.calibration.fit import undetermined
from rarmodel.calibration.prediction import CONTENTION, cases_of
from rarmodel.errors import InputError

EVERY = [(2, 1, 1), (2, 2, 1), (4, 2, 2), (4, 4, 3), (8, 4, 4), (8, 2, 6), (8, 8, 8)]
"""Placements that determine everything."""


def fitted(rows: list[Measurement], **options: object) -> Calibration:
    return rarmodel.calibrate(rows, **({"rates": RATES} | options))  # type: ignore[arg-type]


def parameters(found: Calibration) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in found.parameters}


def statuses(found: Calibration) -> dict[str, str]:
    return {parameter.name: parameter.status for parameter in found.parameters}


@examples(10)
@given(st.floats(0.55, 1), st.floats(0, 3), st.floats(0, 20), st.booleans())
def test_constants_that_made_the_data_are_found_again(
    concurrency: float, alpha: float, overhead: float, known: bool
) -> None:
    constants = contention(concurrency, alpha, overhead)
    found = fitted(measured(constants, EVERY, known=known))
    assert found.contention is not None
    assert found.contention.concurrency == pytest.approx(concurrency, abs=1e-5)
    assert found.contention.degradation.alpha == pytest.approx(alpha, abs=1e-4)
    assert found.contention.overhead_ms_per_server == pytest.approx(overhead, abs=1e-3)
    assert found.rms_error == pytest.approx(0, abs=1e-6)


@examples(10)
@given(st.floats(0.15, 1), st.floats(0, 3))
def test_degradation_of_every_number_of_rings_is_found_though_few_contend(
    concurrency: float, alpha: float
) -> None:
    constants = contention(concurrency, alpha, 2.0)
    found = fitted(measured(constants, EVERY))
    assert found.rms_error == pytest.approx(0, abs=2e-6)


@examples(8)
@given(st.floats(0.4, 1), st.floats(0, 1), st.floats(0, 5))
def test_compute_times_that_are_left_out_are_found_for_each_job(
    concurrency: float, alpha: float, overhead: float
) -> None:
    constants = contention(concurrency, alpha, overhead)
    rows = measured(constants, EVERY, known=False, job="a", compute_ms=80.0)
    rows += measured(constants, EVERY, known=False, job="b", compute_ms=20.0, gradient_mb=300.0)
    values = parameters(fitted(rows))
    assert values["compute_ms[a]"].value == pytest.approx(80.0, abs=1e-2)
    assert values["compute_ms[b]"].value == pytest.approx(20.0, abs=1e-2)


def test_noise_widens_the_intervals_and_most_of_them_hold_the_truth() -> None:
    constants = contention(0.8, 0.3, 5.0)
    truth = {"concurrency": 0.8, "alpha": 0.3, "overhead_ms_per_server": 5.0}
    held, widths = dict.fromkeys(truth, 0), {}
    for deviation in (0.005, 0.02):
        draw = random.Random(7)
        noise = partial(draw.lognormvariate, 0.0, deviation)
        runs = [parameters(fitted(measured(constants, EVERY * 3, noise=noise))) for _ in range(40)]
        for name, value in truth.items():
            intervals = [(run[name].low or 0.0, run[name].high or 0.0) for run in runs]
            held[name] += sum(low <= value <= high for low, high in intervals)
            widths[name, deviation] = float(np.median([high - low for low, high in intervals]))
    # 95 % of 80, give or take: fewer than 68 would be beyond four standard deviations.
    assert all(times >= 68 for times in held.values()), held
    assert all(widths[name, 0.02] > 2.5 * widths[name, 0.005] for name in truth), widths


def test_constants_that_are_given_stay_and_the_others_are_fitted() -> None:
    constants = contention(0.8, 0.3, 5.0)
    found = fitted(measured(constants, EVERY), contention={"alpha": 0.3})
    assert statuses(found) == {
        "concurrency": "fitted",
        "alpha": "given",
        "overhead_ms_per_server": "fitted",
    }
    assert parameters(found)["concurrency"].value == pytest.approx(0.8)
    assert found.degrees_of_freedom == len(EVERY) - 2


def test_all_given_is_a_test_of_constants() -> None:
    rows = measured(contention(0.8, 0.3, 5.0), EVERY)
    given_ = {"concurrency": 1.0, "alpha": 0.0, "overhead_ms_per_server": 0.0}
    found = fitted(rows, contention=given_)
    assert set(statuses(found).values()) == {"given"}
    assert found.rms_error is not None
    assert found.rms_error > 0.04


@pytest.mark.parametrize(
    ("factor", "held", "value"),
    [(2.2, "concurrency", 0.2), (4.1, "concurrency", 2.1), (1.4, "alpha", 0.7)],
)
def test_one_number_of_rings_fixes_one_of_two_constants(
    factor: float, held: str, value: float
) -> None:
    """With two rings f is `2 + α` if ξ1 is 1, and `2·ξ1` if α is 0: the one or the other fits."""
    row = {"gpus": 2, "servers": 2, "concurrent_jobs": 2, "gradient_mb": 100.0, "compute_ms": 0.0}
    found = fitted(
        [Measurement.model_validate(row | {"relative_time": factor})],
        rates={"network_gbps": 10.0},
        contention={"overhead_ms_per_server": 0.0},
    )
    other = {"concurrency": "alpha", "alpha": "concurrency"}[held]
    assert statuses(found)[held] == "held"
    assert parameters(found)[other].value == pytest.approx(value, abs=1e-6)
    assert (
        "concurrency and alpha trade off, and these rows give one number for both: "
        f"{held} is held at {1 if held == 'concurrency' else 0}"
    ) in found.notes
    assert found.degrees_of_freedom == 0
    assert (
        "there are no more rows than fitted constants: no standard errors, and no test"
        in found.notes
    )
    assert parameters(found)[other].standard_error is None


def test_sharing_better_than_equal_parts_stands_at_the_end_of_the_range() -> None:
    """Intercept above 0: no α does that, so it stands at 0, and has no standard error."""
    row = {"gpus": 2, "servers": 2, "gradient_mb": 100.0, "compute_ms": 0.0}
    rows = [
        Measurement.model_validate(row | {"concurrent_jobs": p, "relative_time": 1 + 0.5 * p})
        for p in (2, 3, 4, 6, 8)
    ]
    found = fitted(rows, contention={"overhead_ms_per_server": 0.0})
    assert statuses(found)["alpha"] == "at limit"
    assert parameters(found)["alpha"].value == 0
    assert parameters(found)["alpha"].standard_error is None
    assert "alpha is at the end of its range, 0" in found.notes
    assert found.correlation is None


def test_no_contention_at_all_leaves_alpha_open() -> None:
    rows = measured(contention(0.1, 0.5, 2.0), [(2, 2, 1), (4, 2, 2), (4, 4, 4), (8, 2, 8)])
    found = fitted(rows)
    assert statuses(found) == {
        "concurrency": "at limit",
        "alpha": "held",
        "overhead_ms_per_server": "fitted",
    }
    assert parameters(found)["concurrency"].value == pytest.approx(1 / 8)
    assert found.rms_error == pytest.approx(0, abs=1e-6)


def test_overhead_is_part_of_a_compute_time_that_is_fitted_on_one_number_of_servers() -> None:
    rows = measured(contention(0.8, 0.3, 5.0), [(4, 4, p) for p in (1, 2, 3, 4)], known=False)
    found = fitted(rows)
    assert statuses(found)["overhead_ms_per_server"] == "held"
    assert "the rows do not determine overhead_ms_per_server: held at 0" in found.notes
    values = parameters(found)
    assert values["compute_ms[job]"].value == pytest.approx(50.0 + 4 * 5.0)
    assert (values["concurrency"].value, values["alpha"].value) == pytest.approx((0.8, 0.3))


def test_estimates_of_concurrency_and_alpha_are_correlated() -> None:
    draw = random.Random(1)
    noise = partial(draw.lognormvariate, 0.0, 0.01)
    found = fitted(measured(contention(0.8, 0.3, 5.0), EVERY * 2, noise=noise))
    assert found.correlation is not None
    assert -1 <= found.correlation < -0.5 or 0.5 < found.correlation <= 1


@pytest.mark.parametrize(
    ("placements", "known", "line"),
    [
        (
            [(1, 1, 1)],
            False,
            (
                "the rows determine none of alpha, concurrency, overhead_ms_per_server: no row has "
                "servers above 1 and concurrent_jobs above 1"
            ),
        ),
        (
            [(4, 4, 1)],
            False,
            (
                "the rows determine none of alpha, concurrency, overhead_ms_per_server: no row has "
                "servers above 1 and concurrent_jobs above 1"
            ),
        ),
        (
            [(4, 4, 3)],
            False,
            (
                "the rows determine none of alpha, concurrency, overhead_ms_per_server: more rows "
                "are needed, or compute_ms, or a constant that is given"
            ),
        ),
    ],
)
def test_data_that_determine_nothing_are_refused(
    placements: list[tuple[int, int, int]], known: bool, line: str
) -> None:
    with pytest.raises(InputError) as caught:
        fitted(measured(contention(0.8, 0.3, 5.0), placements, known=known))
    assert caught.value.lines() == [f"measurements: {line}"]


def test_compute_time_that_no_row_determines_is_refused() -> None:
    row = {"job": "a", "gpus": 4, "servers": 1, "concurrent_jobs": 1, "gradient_mb": 10.0}
    rows = [
        Measurement.model_validate(row | {"relative_time": 1.0}),
        *measured(contention(0.8, 0.3, 5.0), EVERY),
    ]
    with pytest.raises(
        InputError, match=r"^measurements: the rows do not determine compute_ms\[a\]$"
    ):
        fitted(rows)


def test_lone_rings_alone_determine_the_overhead_only() -> None:
    rows = measured(contention(0.8, 0.3, 5.0), [(4, 1, 1), (4, 2, 1), (4, 4, 1)])
    found = fitted(rows)
    assert statuses(found) == {
        "concurrency": "held",
        "alpha": "held",
        "overhead_ms_per_server": "fitted",
    }
    assert parameters(found)["overhead_ms_per_server"].value == pytest.approx(5.0)


@examples(25)
@given(st.integers(0, 2**16), st.lists(st.integers(0, 2), min_size=1, max_size=5))
def test_what_is_called_undetermined_changes_no_prediction(seed: int, kinds: list[int]) -> None:
    """The null vectors are found by another way: the rank with and without a column."""
    draw = random.Random(seed)
    placements = [
        [(4, 4, draw.randint(1, 4)), (4, 2, draw.randint(1, 4)), (4, 1, 1)][kind] for kind in kinds
    ]
    rows = measured(contention(0.9, 0.2, 1.0), placements, known=draw.random() < 0.5)
    cases = cases_of(made_measurements(rows), NETWORK, INTRA, REDUCTION)
    values = {"concurrency": 0.83, "alpha": 0.37, "overhead_ms_per_server": 2.0}
    values |= dict.fromkeys(cases.names[len(CONTENTION) :], 20.0)
    from rarmodel.calibration.prediction import slopes

    jacobian = slopes(cases, values)
    jacobian = jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
    whole = np.linalg.matrix_rank(jacobian, tol=1e-7)
    without = {
        name: np.linalg.matrix_rank(np.delete(jacobian, i, axis=1), tol=1e-7)
        for i, name in enumerate(cases.names)
    }
    assert undetermined(cases, values, cases.names) == {
        name for name, rank in without.items() if rank == whole
    }


@pytest.mark.parametrize("network_gbps", [1e-30, 1e-9])
def test_numbers_too_far_apart_for_floating_point_are_refused(network_gbps: float) -> None:
    names = ("job", "gpus", "servers", "concurrent_jobs", "gradient_mb", "compute_ms")
    rows: list[dict[str, Any]] = [
        {**dict(zip(names, values, strict=True)), "network_gbps": rate, "relative_time": time}
        for *values, rate, time in (
            ("a", 3, 3, 1, 3.0, 0.5, 1e-30, 1e-30),
            ("b", 1000, 1000, 8, 3.0, 1e12, 1e-30, 1e-30),
            ("b", 1, 1, 2, 1e4, 1e4, 1e-30, 1e-30),
            ("b", 2**53 - 1, 2**53 - 1, 1, 1e-9, 0.0, 1e-9, 0.5),
            ("a", 2, 1, 1, 1e-30, 1e-9, network_gbps, 0.5),
        )
    ]
    rows.append(dict(zip(names, ("b", 1, 1, 2**53 - 1, 1e30, 1e-9), strict=True)))
    rows[-1] |= {"network_gbps": 1e-9, "iteration_ms": 1e-30}
    with pytest.raises(InputError, match="too far apart; check their units"):
        rarmodel.calibrate(rows, rates={"intra_server_gbps": 100.0})


LARGE = st.sampled_from([1e-30, 1e-9, 0.5, 3.0, 1e4, 1e12, 1e30])
COUNT = st.sampled_from([1, 2, 3, 8, 1000, 2**53 - 1])


@examples(20)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "job": st.sampled_from(["a", "b"]),
                "gpus": COUNT,
                "servers": COUNT,
                "concurrent_jobs": COUNT,
                "gradient_mb": st.one_of(st.just(0.0), LARGE),
                "compute_ms": st.one_of(st.none(), st.just(0.0), LARGE),
                "network_gbps": LARGE,
                "time": LARGE,
                "quantity": st.sampled_from(["iteration_ms", "relative_time"]),
            }
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_table_is_fitted_or_refused_in_words(rows: list[dict[str, Any]]) -> None:
    table = [
        {key: value for key, value in row.items() if key not in {"time", "quantity"}}
        | {"servers": min(row["servers"], row["gpus"]), row["quantity"]: row["time"]}
        for row in rows
    ]
    problems: list[str] = []
    summary: object = None
    try:
        summary = rarmodel.calibrate(table, rates={"intra_server_gbps": 100.0}).summary()
    except InputError as error:
        problems = error.lines()
    assert json.dumps(summary, allow_nan=False)
    assert bool(summary) != bool(problems)
    assert all(line.isprintable() for line in problems)
