"""Results of calibrations and of the testbed as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rarmodel.tabular import NONE, number

from .text_tables import TextTable, numbers, prose, words

if TYPE_CHECKING:
    from rarmodel.calibration import Calibration, ModelComparison
    from rarmodel.testbed import Timing


def parameters(found: Calibration) -> TextTable:
    """Constants of a calibration, with their uncertainty."""
    table = TextTable(
        None,
        [
            words("constant"),
            numbers("value"),
            numbers("standard error", 1),
            numbers("95 % interval"),
            words(""),
        ],
    )
    for one in found.parameters:
        interval = NONE
        if one.low is not None and one.high is not None:
            interval = f"{one.low:.4g} to {one.high:.4g}"
        error = number(one.standard_error, ".2g")
        table.add(one.name, f"{one.value:.5g}", error, interval, one.status)
    return table


def bandwidths(found: Calibration) -> TextTable:
    """Rates that nccl-tests measured."""
    table = TextTable(
        None,
        [
            words("rate"),
            numbers("Gbit/s"),
            numbers("slowest", 1),
            numbers("fastest", 1),
            numbers("messages", 2),
            prose("runs"),
        ],
    )
    for rate in found.bandwidths:
        runs = dict.fromkeys(
            f"{run.source} ({run.gpus} GPUs, {run.servers} server{'s' * (run.servers > 1)})"
            for run, _ in rate.messages
        )
        table.add(
            rate.name,
            f"{rate.gbps:.4g}",
            f"{rate.low:.4g}",
            f"{rate.high:.4g}",
            str(len(rate.messages)),
            ", ".join(runs),
        )
    return table


def residuals(found: Calibration) -> TextTable:
    """Measured and predicted times, row by row."""
    table = TextTable(
        None,
        [
            numbers("line", 1),
            words("job"),
            words("quantity", 2),
            *(numbers(name) for name in ("measured", "predicted", "error")),
        ],
    )
    for row in found.residuals:
        table.add(
            str(row.line),
            row.label or NONE,
            row.quantity,
            f"{row.measured:.5g}",
            f"{row.predicted:.5g}",
            f"{round(row.error, 3) + 0.0:+.1%}",  # + 0.0 makes -0.0 a plain 0.
        )
    return table


def models(found: ModelComparison) -> TextTable:
    """Constants and errors of models of contention."""
    names = [f"{part}, {error}" for part in ("fit", "test") for error in ("mean", "worst")]
    columns = [words("model"), *(numbers(name) for name in ("ξ1", "α", "ξ2, ms", *names))]
    table = TextTable(None, columns)
    for one in found.models:
        constants = [f"{value:.3g}" for value in one.constants.values()]
        errors = [one.fit.mean, one.fit.worst, one.test.mean, one.test.worst]
        table.add(one.model, *constants, *(f"{error:.1%}" for error in errors))
    return table


def timings(found: Sequence[Timing]) -> TextTable:
    """Measured rings."""
    table = TextTable(
        None,
        [
            words("run"),
            words("job"),
            words("servers", 1),
            numbers("MB", 2),
            numbers("compute ms", 3),
            numbers("iterations", 4),
            numbers("iteration ms"),
            numbers("exchange ms"),
        ],
    )
    for one in found:
        ring = one.ring
        table.add(
            one.run.name,
            one.job,
            " ".join(map(str, ring.servers)),
            f"{ring.gradient_mb:g}",
            f"{ring.compute_ms:g}",
            str(one.iterations),
            f"{one.iteration_ms:.1f}",
            f"{one.exchange_ms:.1f}",
        )
    return table
