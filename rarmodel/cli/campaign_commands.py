"""The commands about campaigns: `campaign run`, `status`, `export`, `report` and `figures`."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

import rich_click as click

from rarmodel.errors import one_line

from .options import JSON
from .outputs import PAGE, write_page
from .terminal import answer, answer_json, progress, say, show

if TYPE_CHECKING:
    from rarmodel.campaigns import Standing

FINE, NOT_ALL_DONE = 0, 1
FAILURES = 20
"""Failed runs that have a line each."""


@click.group(no_args_is_help=False)
def campaign() -> None:
    """Do many runs from one file, each in a process of its own."""


@campaign.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--output",
    metavar="DIR",
    required=True,
    help="Folder of the ledger and the table. With the same one the campaign goes on.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    help="Processes at once. By default one for each processor.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Address of a Dask scheduler to run on instead, such as tcp://host:8786.",
)
@click.option("--retry-failed", is_flag=True, help="Do runs that failed once more.")
@JSON
def run(
    files: tuple[str, ...],
    output: str,
    workers: int | None,
    scheduler: str | None,
    retry_failed: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> int:
    """Do what is not done yet of each campaign FILE, or bundled campaign, and write the table."""
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
        say("interrupted; the same command goes on")
    return NOT_ALL_DONE if found.open or found.failed else FINE


@campaign.command()
@click.argument("folder", metavar="DIR")
@JSON
def status(folder: str, as_json: bool) -> int:  # noqa: FBT001
    """Say how far the campaign in DIR is, and what has failed."""
    from rarmodel.campaigns import standing  # noqa: PLC0415

    _show(standing(folder), as_json=as_json)
    return FINE


@campaign.command()
@click.argument("folder", metavar="DIR")
@click.option("--output", metavar="FILE", required=True, help="Parquet file to write.")
def export(folder: str, output: str) -> int:
    """Write the table of the campaign in DIR: a row for each run that has finished or failed."""
    from rarmodel import campaigns  # noqa: PLC0415

    rows = campaigns.export(folder, output)
    say(one_line(f"{output}: {rows} rows"))
    return FINE


@campaign.command()
@click.argument("source", metavar="DIR_OR_TABLE")
@PAGE
def report(source: str, output: str) -> int:
    """Compare the methods of a campaign in one HTML page, from its folder or its Parquet table."""
    from rarmodel import campaigns  # noqa: PLC0415

    write_page(output, lambda: campaigns.campaign_report(source))
    return FINE


@campaign.command()
@click.argument("folder", metavar="DIR")
@JSON
def figures(folder: str, as_json: bool) -> int:  # noqa: FBT001
    """Show what `campaign run figures` found in DIR beside the paper's figures 4 to 7."""
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
    """How far a campaign is: counts to stdout, failures to stderr."""
    if as_json:
        fields = {**asdict(found), "open": found.open}
        fields["failures"] = [{"run": run, "error": error} for run, error in found.failures]
        answer_json(fields)
        return
    for label, count in (
        ("planned", found.planned),
        ("done", found.done),
        ("failed", found.failed),
        ("open", found.open),
    ):
        answer(f"{label:8} {count}")
    if found.lost:
        say(
            f"schedules that are gone: {found.lost}; `campaign run` with the same files makes them "
            "again"
        )
    for name, error in found.failures[:FAILURES]:
        say(one_line(f"{name}: {error}"))
    if len(found.failures) > FAILURES:
        say(f"and {len(found.failures) - FAILURES} more; the table has all errors, as has --json")
