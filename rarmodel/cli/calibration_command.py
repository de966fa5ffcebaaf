"""The command `calibrate`: fit the model's constants to measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from rarmodel.errors import UsageError, one_line

from .input_files import share_stdin
from .options import INTRA_SERVER, JSON, MAX_SIZE, NETWORK, REDUCTION, SEED, SEVERAL, Number, Span
from .output_files import check_output, write_json
from .terminal import answer, answer_json, say, show

if TYPE_CHECKING:
    from rarmodel.calibration import Calibration

RATES = ("network_gbps", "intra_server_gbps", "reduction_gbps")
CONTENTION = ("concurrency", "alpha", "overhead_ms_per_server")


@click.command()
@click.argument("table", required=False)
@click.option(
    "--nccl-tests",
    "nccl_tests",
    multiple=True,
    metavar="FILE",
    help=f"Output of one run of all_reduce_perf, printed or written with -J. {SEVERAL}",
)
@click.option(
    "--instance",
    metavar="INSTANCE",
    help="Instance that supplies the rates not measured; --output writes a copy of it.",
)
@NETWORK
@INTRA_SERVER
@REDUCTION
@click.option(
    "--concurrency",
    type=Number(0, 1, min_open=True),
    metavar="X",
    help="Share of the rings on a link that communicate at once, ξ1. By default it is fitted.",
)
@click.option(
    "--alpha",
    type=Number(0),
    metavar="X",
    help="Cost of each further ring on a link, beyond its share, α. By default it is fitted.",
)
@click.option(
    "--overhead-ms-per-server",
    type=Number(0),
    metavar="MS",
    help="Milliseconds that each server used adds to an iteration, ξ2. By default it is fitted.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="Model of contention whose constants are fitted: count or duty. By default that "
    "of INSTANCE, or count.",
)
@click.option(
    "--message-mb",
    type=Span(float),
    metavar="A..B",
    help="Use the all-reduces of these sizes in MB. By default 16 and more.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Plot predicted against measured times to this .png, .svg or .pdf file.",
)
@click.option(
    "--output", metavar="FILE", help="Write the calibrated sections to this file; - for stdout."
)
@click.option(
    "--compare-models",
    is_flag=True,
    help="Fit the constants of each model of contention to one part of TABLE, and show its errors "
    "on the rest.",
)
@SEED
@MAX_SIZE
@JSON
def calibrate(
    table: str | None,
    nccl_tests: tuple[str, ...],
    instance: str | None,
    model: str | None,
    message_mb: tuple[float, float] | None,
    max_size_mb: float | None,
    plot: str | None,
    output: str | None,
    compare_models: bool,  # noqa: FBT001
    seed: int,
    as_json: bool,  # noqa: FBT001
    **constants: float | None,
) -> int:
    """Fit ξ1, α and ξ2 to measured times in TABLE (CSV), and rates to the output of nccl-tests."""
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.api import inputs, sources  # noqa: PLC0415

    from . import measurement_tables as tables  # noqa: PLC0415

    check_output(output, as_json=as_json)
    share_stdin(table, instance, *nccl_tests)
    if plot is not None:
        _check_picture(plot)
    base = None if instance is None else sources.load_instance(instance)
    given = {name: value for name, value in constants.items() if value is not None}
    known: dict[str, Any] = {
        "instance": base,
        "rates": {name: given[name] for name in RATES if name in given},
        "contention": {name: given[name] for name in CONTENTION if name in given},
        "max_size_mb": max_size_mb,
    }
    if compare_models:
        if table is None or nccl_tests or message_mb or model or output is not None:
            others = "--nccl-tests, --message-mb, --model and --output"
            raise UsageError(f"--compare-models needs TABLE, and goes without {others}")
        compared = inputs.compare_models(table, seed=seed, **known)
        if plot is not None:
            from rarmodel.drawing import models_chart  # noqa: PLC0415 - an extra

            _write_picture(plot, models_chart(compared))
        if as_json:
            answer_json(compared.summary())
        else:
            show(tables.models(compared))
        return 0
    found = inputs.calibrate(
        table, nccl_tests=nccl_tests, message_mb=message_mb, model=model, **known
    )
    if output is not None:
        text = files.format_json(found.sections()) + "\n"
        if base is not None:
            text = files.to_json(found.applied(base))
        write_json(text, output)
    if plot is not None:
        from rarmodel.drawing import calibration_chart  # noqa: PLC0415 - an extra

        _write_picture(plot, calibration_chart(found))
    for note in found.notes:
        say(one_line(f"note: {note}"))
    if as_json:
        answer_json(found.summary())
    elif output != "-":
        _print(found)
    return 0


def _print(found: Calibration) -> None:
    """Print the constants, rates and residuals that there are, with blank lines between."""
    from . import measurement_tables as tables  # noqa: PLC0415

    parts: list[Any] = []
    if found.bandwidths:
        parts.append(tables.bandwidths(found))
    if found.parameters:
        parts += [tables.parameters(found), tables.residuals(found)]
    for i, part in enumerate(parts):
        if i > 0:
            answer("")
        show(part)
    if found.rms_error is not None:
        answer("")
        freedom = found.degrees_of_freedom
        answer(
            f"root mean square error {found.rms_error:.2%}, "
            f"{freedom} degree{'s' * (freedom != 1)} of freedom"
        )


def _check_picture(path: str) -> None:
    """Check before a calibration that its picture can be written."""
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.drawing import form_of  # noqa: PLC0415 - an extra

    form_of(path)
    files.check_writable(path)


def _write_picture(path: str, chart: Any) -> None:
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.drawing import form_of, image_of  # noqa: PLC0415 - an extra

    files.write_bytes(path, image_of(chart, form_of(path)))
