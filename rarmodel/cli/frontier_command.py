"""The command `frontier`."""

from __future__ import annotations

import rich_click as click

from rarmodel.errors import UsageError

from .options import INSTANCE, JSON, POSITIVE, SEVERAL, THREADS
from .output_files import check_rows, picture_form, write_picture, write_rows
from .terminal import answer_json, say, show

FINE, UNSOLVED = 0, 1


def _numbers(_context: click.Context, option: click.Parameter, text: str | None) -> list[float]:
    try:
        return [] if text is None else [float(one) for one in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--{option.name} {text!r}: numbers separated by commas are expected".replace("_", "-")
        ) from None


@click.command()
@INSTANCE
@click.option(
    "--service",
    "services",
    multiple=True,
    metavar="NAME",
    help=f"Only this service. By default all. {SEVERAL}",
)
@click.option(
    "--latencies",
    metavar="MS[,MS…]",
    callback=_numbers,
    help="Latencies to ask for, in milliseconds. By default those at which another batch is short "
    "enough.",
)
@click.option(
    "--accuracies",
    metavar="NUMBER[,NUMBER…]",
    callback=_numbers,
    help="Accuracies to ask for. By default those of the variants, and some between them.",
)
@click.option(
    "--time-limit",
    type=POSITIVE,
    metavar="SECONDS",
    help="Time limit of each point, in seconds. By default 30.",
)
@THREADS
@click.option(
    "--csv",
    "rows_to",
    metavar="FILE",
    help="Write a row for each point to this CSV file, beside the table; - for stdout, in place of "
    "the table.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Draw the frontier to this file; its name ends in .png, .svg, .pdf or .html.",
)
@JSON
def frontier(
    instance: str,
    services: tuple[str, ...],
    latencies: list[float],
    accuracies: list[float],
    time_limit: float | None,
    threads: int | None,
    rows_to: str | None,
    plot: str | None,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Show what the services of INSTANCE trade: latency, accuracy and cost.

    The table has the points that no other one improves on. Exit code 1 means that there are none.
    """
    from rarmodel.api import serving  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    check_rows(rows_to, as_json=as_json)
    form = None if plot is None else picture_form(plot)
    found = serving.frontier(
        instance,
        services=services,
        latencies_ms=latencies,
        accuracies=accuracies,
        time_limit=time_limit,
        threads=threads,
    )
    if rows_to is not None:
        write_rows(found.rows(), rows_to)
    if plot is not None and form is not None:
        write_picture(found.plot(), form, plot)
    if as_json:
        answer_json(found.summary())
    elif rows_to != "-" and found.efficient:
        show(tables.of_rows(found.instance, found.table()))
    if not found.efficient:
        for why in dict.fromkeys(one.why for one in found.points):
            say(f"{found.instance}: {why}")
    return FINE if found.efficient else UNSOLVED
