"""The commands that show schedules: `plot` and `report`."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from rarmodel.errors import UsageError

from .input_files import read_schedules
from .options import OBJECTIVE, SEVERAL
from .output_files import PAGE, SIMULATIONS, write_page, write_picture

FORMS = ("png", "svg", "pdf", "html")
INSTANCE = click.argument("instance")
COLOUR = click.option(
    "--colour",
    type=click.Choice(["size", "tenant"]),
    default="size",
    show_default=True,
    help="Choose what the colours of jobs say: their numbers of GPUs, or whose they are.",
)
SCHEDULES = click.argument("schedules", nargs=-1, required=True, metavar="SCHEDULE...")


@click.command()
@INSTANCE
@SCHEDULES
@click.option(
    "--output",
    metavar="FILE",
    required=True,
    help="Write to this file; its name ends in .png, .svg, .pdf or .html.",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="NAME",
    help=f"Draw this part: gantt, contention or utilisation. By default all. {SEVERAL}",
)
@OBJECTIVE
@COLOUR
def plot(
    instance: str,
    schedules: tuple[str, ...],
    output: str,
    parts: tuple[str, ...],
    objective: str | list[str] | None,
    colour: str,
) -> int:
    """Draw schedules of INSTANCE, one below the other.

    Each SCHEDULE is a file, or - for stdin.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.api import plotting  # noqa: PLC0415

    form = Path(output).suffix[1:].lower()
    if form not in FORMS:
        raise UsageError(f"{output}: a file that ends in .png, .svg, .pdf or .html is expected")
    files.check_writable(output)
    problem, claimed = read_schedules(instance, schedules)
    if form == "html":
        if parts:
            raise UsageError("parts are for pictures; an HTML page has all parts")
        write_page(
            output,
            lambda: plotting.report(problem, claimed, objective=objective, colour=colour),
        )
        return 0
    chart = plotting.plot(problem, claimed, parts=parts or None, objective=objective, colour=colour)
    write_picture(chart, form, output)
    return 0


@click.command()
@INSTANCE
@SCHEDULES
@PAGE
@SIMULATIONS
@OBJECTIVE
@COLOUR
def report(
    instance: str,
    schedules: tuple[str, ...],
    output: str,
    simulations: bool,  # noqa: FBT001
    objective: str | list[str] | None,
    colour: str,
) -> int:
    """Compare schedules of INSTANCE in one HTML page that opens offline.

    Each SCHEDULE is a file, or - for stdin.
    """
    from rarmodel.api import plotting  # noqa: PLC0415

    if simulations and objective is not None:
        raise UsageError("--simulations compares flow times; leave --objective out")

    def page() -> str:
        if simulations:
            return plotting.report_simulations(*read_schedules(instance, schedules))
        problem, claimed = read_schedules(instance, schedules)
        return plotting.report(problem, claimed, objective=objective, colour=colour)

    write_page(output, page)
    return 0
