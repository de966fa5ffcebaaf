"""Predictions of equation (8) for a table of measurements, and their derivatives.

The predictions use the model's own functions, which accept columns as well as numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rarmodel.errors import InputError, Problem
from rarmodel.model import (
    contention_level,
    exchange_bits,
    iteration_seconds,
    linear_degradation,
    overhead_seconds,
    reduction_seconds,
)

from .measurement_table import Measurements

CONCURRENCY, ALPHA, OVERHEAD = "concurrency", "alpha", "overhead_ms_per_server"
CONTENTION = (CONCURRENCY, ALPHA, OVERHEAD)
"""The constants to fit, named as in an instance: ξ1, α and ξ2."""

_LEAST_SECONDS = 1e-60

Column = Any
"""A column of numbers, one for each measurement."""


@dataclass(frozen=True)
class Cases:
    """Measurements as columns.

    Attributes
    ----------
    measured
        Measured times, in each row's own unit.
    scale
        Factor from seconds to the row's unit: 1000 for an iteration in milliseconds, the iterations
        for a completion time; NaN for a relative time.
    bits, reduction
        Bits that a worker exchanges, and seconds of its reduction.
    gbps
        Rate of the exchange without contention.
    servers
        Servers used.
    rings, ring
        The distinct numbers of rings on a link, and the index of each row's number; 0 for no link.
    compute
        Known compute time in milliseconds; 0 if it is fitted.
    jobs, job
        Jobs whose compute time is fitted, and the index of each row's job; −1 for none.
    """

    measured: Column
    scale: Column
    bits: Column
    reduction: Column
    gbps: Column
    servers: Column
    rings: tuple[int, ...]
    ring: Column
    compute: Column
    jobs: tuple[str, ...]
    job: Column

    @property
    def names(self) -> tuple[str, ...]:
        """All names that can be fitted: the constants of contention, and compute times by job."""
        return (*CONTENTION, *(f"compute_ms[{job}]" for job in self.jobs))


def cases_of(
    table: Measurements, network_gbps: float | None, intra_gbps: float | None, reduction_gbps: float
) -> Cases:
    """Turn measurements into columns.

    Parameters
    ----------
    table
        The measurements.
    network_gbps
        Rate of links, b^e, for rows without their own.
    intra_gbps
        Bandwidth within a server, b^i.
    reduction_gbps
        Rate of the reduction, C; infinite for none.

    Raises
    ------
    InputError
        If a required rate is missing, or a job of unknown compute time has no name.
    """
    rows = table.rows
    _require(table, network_gbps, intra_gbps)
    rings = tuple(sorted({row.concurrent_jobs if row.on_link else 0 for row in rows}))
    jobs = tuple(dict.fromkeys(row.job or "" for row in rows if row.compute_ms is None))
    gbps = []
    for row in rows:
        network = row.network_gbps or network_gbps
        gbps.append((network if row.servers > 1 else intra_gbps) if row.exchanges else 1.0)
    factors = {"iteration_ms": 1e3, "relative_time": math.nan}
    return Cases(
        measured=np.array([row.measured for row in rows]),
        scale=np.array([factors.get(row.quantity, row.iterations) for row in rows], float),
        bits=np.array([exchange_bits(row.gradient_mb, row.gpus) for row in rows]),
        reduction=np.array(
            [reduction_seconds(row.gradient_mb, row.gpus, reduction_gbps) for row in rows]
        ),
        gbps=np.array(gbps, float),
        servers=np.array([row.servers for row in rows], float),
        rings=rings,
        ring=np.array([rings.index(row.concurrent_jobs if row.on_link else 0) for row in rows]),
        compute=np.array([row.compute_ms or 0.0 for row in rows]),
        jobs=jobs,
        job=np.array([jobs.index(row.job or "") if row.compute_ms is None else -1 for row in rows]),
    )


def _require(table: Measurements, network_gbps: float | None, intra_gbps: float | None) -> None:
    """Check that rows have every required rate, and a name if their compute time is fitted."""
    needs = {
        "network_gbps is needed by jobs on several servers": [
            line
            for row, line in zip(table.rows, table.lines, strict=True)
            if row.on_link and row.network_gbps is None and network_gbps is None
        ],
        "intra_server_gbps is needed by jobs within one server": [
            line
            for row, line in zip(table.rows, table.lines, strict=True)
            if row.exchanges and row.servers == 1 and intra_gbps is None
        ],
        "job is needed where compute_ms is empty": [
            line
            for row, line in zip(table.rows, table.lines, strict=True)
            if row.compute_ms is None and row.job is None
        ],
    }
    problems = [Problem("", f"{what}: {_lines(lines)}") for what, lines in needs.items() if lines]
    if problems:
        raise InputError(problems, table.source)


def _lines(lines: Sequence[int]) -> str:
    few = ", ".join(map(str, lines[:8]))
    return f"line{'s' * (len(lines) > 1)} {few}{', …' * (len(lines) > 8)}"


def count_factors(cases: Cases, values: Mapping[str, float]) -> Column:
    """Degradation f of each row's exchange; 1 without a link."""
    return np.array(
        [
            linear_degradation(values[ALPHA], contention_level(values[CONCURRENCY], p))
            for p in cases.rings
        ]
    )[cases.ring]


def _compute_ms(cases: Cases, values: Mapping[str, float]) -> Column:
    fitted = np.array([*(values[name] for name in cases.names[len(CONTENTION) :]), 0.0])
    return cases.compute + fitted[cases.job]


def seconds_of(cases: Cases, values: Mapping[str, float], factors: Column) -> Column:
    """Time of an iteration, τ of (8); slightly above 0 for a job that does nothing."""
    seconds = iteration_seconds(
        cases.bits,
        cases.gbps / factors,
        0.0,
        cases.reduction,
        overhead_seconds(values[OVERHEAD], cases.servers),
        1e-3 * _compute_ms(cases, values),
        1.0,
    )
    return np.maximum(seconds, _LEAST_SECONDS)


def predictions(cases: Cases, values: Mapping[str, float], factors: Column | None = None) -> Column:
    """The model's prediction for each row, in the row's own unit.

    Parameters
    ----------
    cases
        The measurements.
    values
        A number for each of `Cases.names`.
    factors
        Degradation of each row's exchange; by default that of the count (6).
    """
    if factors is None:
        factors = count_factors(cases, values)
    seconds = seconds_of(cases, values, factors)
    alone = seconds_of(cases, values, 1.0)
    return np.where(np.isnan(cases.scale), seconds / alone, seconds * cases.scale)


def slopes(cases: Cases, values: Mapping[str, float]) -> Column:
    """Derivatives of the logarithms of `predictions`: one row per measurement, one column per name.

    At a number of rings for which f is exactly 1, they are the derivatives without contention.
    """
    factors = count_factors(cases, values)
    seconds, alone = seconds_of(cases, values, factors), seconds_of(cases, values, 1.0)
    exchange = cases.bits / (cases.gbps * 1e9)
    level = np.array([contention_level(values[CONCURRENCY], p) for p in cases.rings])
    shared = level > 1.0
    by_concurrency = np.where(shared, (1.0 + values[ALPHA]) * np.array(cases.rings), 0.0)
    by_alpha = np.where(shared, level - 1.0, 0.0)
    fitted = [cases.job == i for i in range(len(cases.jobs))]
    by_factor = np.column_stack(
        [exchange * by_concurrency[cases.ring], exchange * by_alpha[cases.ring]]
    )
    by_rest = np.column_stack([1e-3 * cases.servers, *(1e-3 * own for own in fitted)])
    # What both sides of a relative time have cancels in part.
    relative = np.isnan(cases.scale)[:, None]
    rest = by_rest / seconds[:, None] - np.where(relative, by_rest / alone[:, None], 0.0)
    return np.column_stack([by_factor / seconds[:, None], rest])
