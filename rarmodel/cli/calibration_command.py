"""The command `calibrate`: fit the model's constants to measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import rich_click as click

from rarmodel.errors import UsageError, one_line

from .input_files import share_stdin
from .named_numbers import CONTENTION, RATES, merged, named_option
from .options import JSON, MAX_SIZE, SEED, SEVERAL, Span
from .output_files import check_output, write_json, write_picture
from .terminal import answer, answer_json, say, show

if TYPE_CHECKING:
    from rarmodel.calibration import Calibration, TermComparison
    from rarmodel.schema import Instance


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
@named_option(
    "--cluster",
    "Rates of the cluster that are known",
    {name: kind for name, kind in RATES.items() if name != "oversubscription"},
)
@named_option(
    "--contention",
    "Numbers of contention that are not fitted",
    {**CONTENTION, "model": click.STRING},
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
@click.option(
    "--test",
    metavar="FILE",
    help="Another table in the same published layout, which the fitted constants predict.",
)
@click.option(
    "--gpu-type",
    metavar="NAME",
    help="Of pairs of jobs on the same GPUs, use those on this type of GPU.",
)
@SEED
@MAX_SIZE
@JSON
def calibrate(
    table: str | None,
    nccl_tests: tuple[str, ...],
    instance: str | None,
    cluster: tuple[Mapping[str, Any], ...],
    contention: tuple[Mapping[str, Any], ...],
    message_mb: tuple[float, float] | None,
    max_size_mb: float | None,
    plot: str | None,
    output: str | None,
    compare_models: bool,  # noqa: FBT001
    test: str | None,
    gpu_type: str | None,
    seed: int,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Fit ξ1, α and ξ2 to measured times in TABLE (CSV), and rates to the output of nccl-tests.

    TABLE may also have a published layout: step times by placement, all-reduces, pairs of jobs on
    the same servers, or pairs on the same GPUs, as Gavel and Lucid have measured. Then the terms of
    the model are added one after another, and those that lower the held-out error are fitted.
    """
    from rarmodel.api import inputs, sources  # noqa: PLC0415

    from . import measurement_tables as tables  # noqa: PLC0415

    check_output(output, as_json=as_json)
    share_stdin(table, instance, *nccl_tests)
    if plot is not None:
        _check_picture(plot)
    base = None if instance is None else sources.load_instance(instance)
    _, rates = merged("--cluster", cluster)
    _, constants = merged("--contention", contention)
    model = constants.pop("model", None)
    if table is not None and inputs.is_published(table, max_size_mb):
        if nccl_tests or message_mb or rates or constants or model:
            others = "--nccl-tests, --message-mb, --cluster and --contention"
            raise UsageError(f"{table} has a published layout, which goes without {others}")
        compared = inputs.compare_terms(
            table, test=test, gpu_type=gpu_type, seed=seed, max_size_mb=max_size_mb
        )
        return _terms(compared, base, output, plot, as_json=as_json)
    if test is not None or gpu_type is not None:
        option = "--test" if gpu_type is None else "--gpu-type"
        raise UsageError(f"{option} needs TABLE in a published layout")
    known: dict[str, Any] = {
        "instance": base,
        "rates": rates,
        "contention": constants,
        "max_size_mb": max_size_mb,
    }
    if compare_models:
        if table is None or nccl_tests or message_mb or model or output is not None:
            others = "--nccl-tests, --message-mb, --contention model=… and --output"
            raise UsageError(f"--compare-models needs TABLE, and goes without {others}")
        models = inputs.compare_models(table, seed=seed, **known)
        if plot is not None:
            from rarmodel.drawing import models_chart  # noqa: PLC0415 - an extra

            _write_picture(plot, models_chart(models))
        if as_json:
            answer_json(models.summary())
        else:
            show(tables.models(models))
        return 0
    found = inputs.calibrate(
        table, nccl_tests=nccl_tests, message_mb=message_mb, model=model, **known
    )
    _write_constants(found, base, output)
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


def _terms(
    compared: TermComparison,
    base: Instance | None,
    output: str | None,
    plot: str | None,
    *,
    as_json: bool,
) -> int:
    """Write and print what a table in a published layout says about the terms of the model."""
    from . import term_tables as tables  # noqa: PLC0415

    _write_constants(compared, base, output)
    if plot is not None:
        from rarmodel.drawing import terms_chart  # noqa: PLC0415 - an extra

        _write_picture(plot, terms_chart(compared))
    for note in compared.notes:
        say(one_line(f"note: {note}"))
    if as_json:
        answer_json(compared.summary())
    elif output != "-":
        parts = [tables.constants(compared), tables.groups(compared)]
        if compared.across:
            parts.append(tables.across(compared))
        if compared.tested:
            parts.append(tables.tested(compared))
        for part in (*parts, tables.terms(compared)):
            show(part)
            answer("")
        for sentence in compared.verdicts:
            answer(one_line(sentence))
    return 0


def _write_constants(
    found: Calibration | TermComparison, base: Instance | None, output: str | None
) -> None:
    """Write the constants to a file, or the instance with them."""
    from rarmodel import files  # noqa: PLC0415

    if output is None:
        return
    if base is None:
        write_json(files.format_json(found.sections()) + "\n", output, "constants")
    else:
        write_json(files.to_json(found.applied(base)), output, "instance")


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
    from rarmodel.drawing import form_of  # noqa: PLC0415 - an extra

    write_picture(chart, form_of(path), path)
