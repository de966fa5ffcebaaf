"""Results of calibrations and of the testbed as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rarmodel.errors import one_line
from rarmodel.tabular import NONE, number

from .tables import new_table

if TYPE_CHECKING:
    from rich.table import Table

    from rarmodel.calibration import Calibration, ModelComparison
    from rarmodel.testbed import Timing


def parameters(found: Calibration) -> Table:
    """Constants of a calibration, with their uncertainty."""
    table = new_table(
        None,
        ("constant", "left"),
        ("value", "right"),
        ("standard error", "right"),
        ("95 % interval", "right"),
        ("", "left"),
    )
    for one in found.parameters:
        interval = NONE
        if one.low is not None and one.high is not None:
            interval = f"{one.low:.4g} to {one.high:.4g}"
        error = number(one.standard_error, ".2g")
        table.add_row(one_line(one.name), f"{one.value:.5g}", error, interval, one.status)
    return table


def bandwidths(found: Calibration) -> Table:
    """Rates that nccl-tests measured."""
    table = new_table(
        None,
        ("rate", "left"),
        ("Gbit/s", "right"),
        ("slowest", "right"),
        ("fastest", "right"),
        ("messages", "right"),
        ("runs", "left"),
    )
    for rate in found.bandwidths:
        runs = dict.fromkeys(
            f"{run.source} ({run.gpus} GPUs, {run.servers} server{'s' * (run.servers > 1)})"
            for run, _ in rate.messages
        )
        table.add_row(
            rate.name,
            f"{rate.gbps:.4g}",
            f"{rate.low:.4g}",
            f"{rate.high:.4g}",
            str(len(rate.messages)),
            one_line(", ".join(runs)),
        )
    return table


def residuals(found: Calibration) -> Table:
    """Measured and predicted times, row by row."""
    table = new_table(
        None,
        ("line", "right"),
        ("job", "left"),
        ("quantity", "left"),
        ("measured", "right"),
        ("predicted", "right"),
        ("error", "right"),
    )
    for row in found.residuals:
        table.add_row(
            str(row.line),
            one_line(row.label or NONE),
            row.quantity,
            f"{row.measured:.5g}",
            f"{row.predicted:.5g}",
            f"{round(row.error, 3) + 0.0:+.1%}",  # + 0.0 makes -0.0 a plain 0.
        )
    return table


def models(found: ModelComparison) -> Table:
    """Constants and errors of models of contention."""
    table = new_table(
        None,
        ("model", "left"),
        *((name, "right") for name in ("ξ1", "α", "ξ2, ms")),
        *((f"{part}, {error}", "right") for part in ("fit", "test") for error in ("mean", "worst")),
    )
    for one in found.models:
        constants = [f"{value:.3g}" for value in one.constants.values()]
        errors = [one.fit.mean, one.fit.worst, one.test.mean, one.test.worst]
        table.add_row(one.model, *constants, *(f"{error:.1%}" for error in errors))
    return table


def timings(found: Sequence[Timing]) -> Table:
    """Measured rings."""
    table = new_table(
        None,
        ("run", "left"),
        ("job", "left"),
        ("servers", "left"),
        *((name, "right") for name in ("MB", "compute ms", "iterations")),
        *((name, "right") for name in ("iteration ms", "exchange ms")),
    )
    for one in found:
        ring = one.ring
        table.add_row(
            one_line(one.run.name),
            one_line(one.job),
            " ".join(map(str, ring.servers)),
            f"{ring.gradient_mb:g}",
            f"{ring.compute_ms:g}",
            str(one.iterations),
            f"{one.iteration_ms:.1f}",
            f"{one.exchange_ms:.1f}",
        )
    return table
