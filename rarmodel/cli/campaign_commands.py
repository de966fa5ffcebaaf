"""The commands about campaigns: `campaign run`, `status`, and those that show results."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

import rich_click as click

from rarmodel.errors import one_line

from .number_types import Whole
from .options import JSON, scheduler_option
from .output_files import (
    PAGE,
    SIMULATIONS,
    SOLVE_PARTS,
    check_shown,
    picture_form,
    write_page,
    write_picture,
    write_shown,
)
from .terminal import answer, answer_json, progress, say, show

if TYPE_CHECKING:
    from rarmodel.campaigns import Standing

FINE, NOT_ALL_DONE = 0, 1
FAILURES = 20
"""Number of failed runs that are listed, one line each."""


@click.group(no_args_is_help=False)
def campaign() -> None:
    """Run a batch of solves described in one file, each in its own process."""


@campaign.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--output",
    metavar="DIR",
    required=True,
    help="Folder for the ledger and the table. Give the same folder again to continue a campaign.",
)
@click.option(
    "--workers",
    type=Whole(1),
    metavar="N",
    help="Number of processes at the same time. By default one per processor.",
)
@scheduler_option("do the runs")
@click.option("--retry-failed", is_flag=True, help="Repeat the runs that failed.")
@JSON
def run(
    files: tuple[str, ...],
    output: str,
    workers: int | None,
    scheduler: str | None,
    retry_failed: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> int:
    """Do all runs of each campaign FILE that are not done yet, and write the table.

    FILE is a campaign file, or a bundled campaign: figure-4 to figure-7, or figures for all.
    """
    from rarmodel.campaigns import run_campaigns  # noqa: PLC0415

    with progress() as (name, _):
        name("planning …")

        def tell(far: Standing) -> None:
            failed = f", {far.failed} failed" if far.failed else ""
            name(f"{far.done} of {far.planned} runs done{failed}")

        found = run_campaigns(
            files,
            output,
            workers=workers,
            scheduler=scheduler,
            retry_failed=retry_failed,
            tell=tell,
        )
    _show(found, as_json=as_json)
    if found.interrupted:
        say("interrupted; repeat the command to continue")
    return NOT_ALL_DONE if found.open or found.failed else FINE


@campaign.command()
@click.argument("folder", metavar="DIR")
@JSON
def status(folder: str, as_json: bool) -> int:  # noqa: FBT001
    """Show the progress of the campaign in DIR, and its failed runs."""
    from rarmodel.campaigns import standing  # noqa: PLC0415

    _show(standing(folder), as_json=as_json)
    return FINE


@campaign.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--output",
    metavar="FILE",
    required=True,
    help="Write the table to this file; its name ends in .csv, .parquet, .tex or .xlsx.",
)
def export(folder: str, output: str) -> int:
    """Write the table of the campaign in DIR: one row per finished or failed run."""
    from rarmodel import campaigns  # noqa: PLC0415

    rows = campaigns.export(folder, output)
    say(one_line(f"{output}: {rows} rows"))
    return FINE


@campaign.command()
@click.argument("source", metavar="DIR_OR_TABLE")
@PAGE
@SIMULATIONS
def report(source: str, output: str, simulations: bool) -> int:  # noqa: FBT001
    """Compare the methods of a campaign in one HTML page, from its folder or its Parquet table."""
    from rarmodel import campaigns  # noqa: PLC0415

    make = campaigns.simulations_report if simulations else campaigns.campaign_report
    write_page(output, lambda: make(source))
    return FINE


@campaign.command()
@click.argument("source", metavar="DIR_OR_TABLE")
@click.option(
    "--output",
    metavar="FILE",
    required=True,
    help="Write to this file; its name ends in .png, .svg or .pdf.",
)
@SOLVE_PARTS
def plot(source: str, output: str, solve_parts: tuple[str, ...]) -> int:
    """Draw performance profiles of a campaign's methods, and their gaps over time."""
    from rarmodel import campaigns  # noqa: PLC0415

    form = picture_form(output)
    write_picture(campaigns.campaign_plot(source, solve_parts or None), form, output)
    return FINE


@campaign.command()
@click.argument("source", metavar="DIR_OR_TABLE")
@click.option(
    "--over",
    metavar="SETTING",
    help="Give each value of this parameter, option or setting of the instances a column.",
)
@click.option(
    "--measure",
    metavar="NAME",
    default="value",
    show_default=True,
    help="With --over, what cells have the mean of: value, ratio, gap, seconds or optimal.",
)
@click.option(
    "--output",
    metavar="FILE",
    help="Write the table to this file, which ends in .tex (LaTeX with booktabs) or .csv.",
)
@JSON
def table(
    source: str,
    over: str | None,
    measure: str,
    output: str | None,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Compare the methods of a campaign in one table, also across the values of a setting."""
    from rarmodel import campaigns  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    check_shown(output)
    found = campaigns.campaign_table(source, over, measure)
    if output is not None:
        write_shown(found, output)
    if as_json:
        answer_json(list(found.rows))
    elif output is None:
        show(tables.of_rows(found.title, found.table(), tables.CAMPAIGN))
    return FINE


@campaign.command()
@click.argument("folder", metavar="DIR")
@JSON
def figures(folder: str, as_json: bool) -> int:  # noqa: FBT001
    """Compare the results of `campaign run figures` in DIR with the paper's figures 4 to 7."""
    from rarmodel.campaigns import compare_figures  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    found = compare_figures(folder)
    if as_json:
        answer_json([asdict(one) for one in found])
        return FINE
    for i, (title, of_figure) in enumerate(groupby(found, lambda one: (one.figure, one.measure))):
        if i > 0:
            answer("")
        show(tables.figure(": ".join(title).replace("_", " "), of_figure))
    return FINE


def _show(found: Standing, *, as_json: bool) -> None:
    """Print the progress of a campaign: counts to stdout, failures to stderr."""
    if as_json:
        fields = {**asdict(found), "open": found.open}
        fields["failures"] = [{"run": run, "error": error} for run, error in found.failures]
        answer_json(fields)
        return
    for label, count in (
        ("planned", found.planned),
        ("done", found.done),
        *([("skipped", found.skipped)] if found.skipped else []),
        ("failed", found.failed),
        ("open", found.open),
    ):
        answer(f"{label:8} {count}")
    if found.lost:
        say(
            f"schedules that are gone: {found.lost}; repeat `campaign run` with the same files to "
            "make them again"
        )
    for name, error in found.failures[:FAILURES]:
        say(one_line(f"{name}: {error}"))
    if len(found.failures) > FAILURES:
        say(f"and {len(found.failures) - FAILURES} more; the table and --json have all errors")
