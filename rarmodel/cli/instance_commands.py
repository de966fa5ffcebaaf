"""The commands about bundled instances: `instances`, and its `write`, `check` and `improve`."""

from __future__ import annotations

import rich_click as click

from rarmodel.errors import one_line

from .options import JSON, POSITIVE
from .output_files import check_output, write_json
from .terminal import answer, answer_json, progress, say, say_first, show, show_lines, show_text

FINE, WRONG = 0, 1

FAMILY = click.option(
    "--family",
    "listed_family",
    metavar="NAME",
    help="Only the instances of this family; `rarmodel instances` lists the families.",
)
LIBRARY = click.option(
    "--library", metavar="FILE", help="File of the library. By default the bundled one."
)


@click.group(invoke_without_command=True, no_args_is_help=False)
@FAMILY
@JSON
@click.pass_context
def instances(context: click.Context, listed_family: str | None, as_json: bool) -> int:  # noqa: FBT001
    """List the bundled instances, with the best makespans and bounds known."""
    if context.invoked_subcommand is not None:
        return FINE
    from rarmodel.api import library_listing  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    if as_json:
        answer_json(library_listing.list_instances(listed_family))
        return FINE
    show(tables.bundled(library_listing.list_instances(listed_family or "examples")))
    if listed_family is None:
        answer("")
        show(tables.families(library_listing.list_families()))
    return FINE


@instances.command()
@click.argument("folder", metavar="DIR")
@FAMILY
@click.option(
    "--schedules",
    is_flag=True,
    help="Also write the best known schedules, with their bounds, as NAME.schedule.json.",
)
@LIBRARY
def write(folder: str, listed_family: str | None, schedules: bool, library: str | None) -> int:  # noqa: FBT001
    """Write bundled instances to DIR as files NAME.json, for use with other solvers."""
    from rarmodel.library import read_library, write_instances  # noqa: PLC0415

    found = read_library(library)
    number = write_instances(found, folder, listed_family, schedules=schedules)
    say(one_line(f"{folder}: {number} instances"))
    return FINE


@instances.command()
@LIBRARY
@click.option(
    "--bounds",
    is_flag=True,
    help="Prove the bounds anew without a search, and say which are reproduced.",
)
@click.option(
    "--time-limit",
    type=POSITIVE,
    metavar="SECONDS",
    default=2.0,
    show_default=True,
    help="Time for the slow bounds of each instance, in seconds.",
)
@JSON
def check(library: str | None, bounds: bool, time_limit: float, as_json: bool) -> int:  # noqa: FBT001
    """Check the library: instances against their digests, schedules and values by the verifier."""
    from rarmodel.library import check, read_library  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    with progress() as (name, _):
        found = check(read_library(library), time_limit if bounds else None, name)
    if as_json:
        answer_json(found.summary())
    else:
        if bounds:
            show(tables.recomputed(found.bounds))
            answer("")
        show_lines(found.lines())
    say_first([": ".join(problem) for problem in found.problems], "problems")
    return WRONG if found.problems else FINE


@instances.command()
@click.argument("sources", nargs=-1, required=True, metavar="FILE...")
@LIBRARY
@click.option(
    "--output",
    metavar="FILE",
    required=True,
    help="Write the improved library to this file; it may be that of --library.",
)
@JSON
def improve(sources: tuple[str, ...], library: str | None, output: str, as_json: bool) -> int:  # noqa: FBT001
    """Take better schedules and bounds into the library, line by line.

    FILE is a schedule, or a folder of schedules, such as that of a campaign.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.library import improve, read_library, read_schedules  # noqa: PLC0415

    check_output(output, as_json=as_json)
    found = improve(read_library(library), read_schedules(sources))
    write_json(files.to_json(found.library), output, "library")
    if as_json:
        answer_json([change.summary() for change in found.changes])
    else:
        for change in found.changes:
            (say if output == "-" else show_text)(str(change))
        say(one_line(f"{output}: {len(found.changes)} changes"))
    say_first([": ".join(problem) for problem in found.problems], "problems")
    return WRONG if found.problems else FINE
