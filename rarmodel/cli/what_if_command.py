"""The command `what-if`: an instance changed and unchanged, side by side."""

from __future__ import annotations

from pathlib import PurePath

import rich_click as click

from rarmodel.defaults import DEFAULT_METHOD, DEFAULT_PLACEMENT, DEFAULT_POLICY
from rarmodel.errors import one_line

from .commands import FINE, UNSOLVED
from .input_files import share_stdin
from .number_types import Whole
from .options import (
    JSON,
    OBJECTIVE,
    POSITIVE,
    SEED,
    SEVERAL,
    THREADS,
    iterations_option,
)
from .output_files import (
    check_output,
    check_rows,
    check_shown,
    picture_form,
    write_page,
    write_picture,
    write_rows,
    write_shown,
)
from .terminal import answer_json, progress, say, say_first, show

PAGE = ".html"


@click.command("what-if")
@click.argument("instances", nargs=-1, required=True, metavar="INSTANCE...")
@click.option(
    "--change",
    "changes",
    multiple=True,
    required=True,
    metavar="NAME=VALUE[,NAME=VALUE…]",
    help="An alternative beside the unchanged instance; a comma joins changes into one. Changes: "
    "servers=+4, down=s3, network-gbps=100, network=x2, links.LEVEL=200, intra-server-gbps=600, "
    "gpu-type=a100:h100:x1.8, gpu-speed=x1.5, price.TYPE=2.5, reserve=s0:8@0..600, "
    "tenant.NAME=16, resource.NAME=8, arrivals=x1.5, preemption=60, policy=NAME, placement=NAME, "
    f"method=NAME. {SEVERAL}",
)
@click.option(
    "--policy",
    metavar="NAME",
    help="Simulate under this policy; `rarmodel list policies` lists them. By default "
    f"{DEFAULT_POLICY}, if some job is released after slot 0.",
)
@click.option(
    "--placement",
    metavar="NAME",
    help="Where simulated jobs are put that get GPUs; `rarmodel list placements` lists the names. "
    f"By default {DEFAULT_PLACEMENT}.",
)
@click.option(
    "--method",
    metavar="NAME",
    help="Solve by this method; `rarmodel list methods` lists them. By default "
    f"{DEFAULT_METHOD}, if all jobs are there at slot 0.",
)
@OBJECTIVE
@click.option(
    "--time-limit",
    type=POSITIVE,
    metavar="SECONDS",
    help="Stop each solve after this time, in seconds, with the best schedule so far. By default "
    "10 with search.",
)
@iterations_option("figures")
@click.option(
    "--seeds",
    type=Whole(1),
    metavar="N",
    default=1,
    show_default=True,
    help="Run each INSTANCE with so many seeds, from --seed on. Each seed draws a random family "
    "anew.",
)
@THREADS
@SEED
@click.option(
    "--output",
    metavar="FILE",
    help="Draw the figures to this file; its name ends in .png, .svg, .pdf or .html.",
)
@click.option(
    "--csv",
    "rows_to",
    metavar="FILE",
    help="Write a row for each alternative on each draw to this CSV file, beside the table; - for "
    "stdout, in place of the table.",
)
@click.option(
    "--table",
    "table_to",
    metavar="FILE",
    help="Write the table as it is shown to this file; its name ends in .tex (LaTeX with booktabs) "
    "or .csv.",
)
@JSON
def what_if(
    instances: tuple[str, ...],
    changes: tuple[str, ...],
    policy: str | None,
    placement: str | None,
    method: str | None,
    objective: str | list[str] | None,
    time_limit: float | None,
    iterations: int | None,
    seeds: int,
    threads: int | None,
    seed: int,
    output: str | None,
    rows_to: str | None,
    table_to: str | None,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Ask what would be with more servers, faster links, another policy: INSTANCE changed.

    Each INSTANCE is a file, - for stdin, a folder of files, the name of a bundled instance, or a
    random family. Jobs that arrive are simulated under a policy, others are solved by a method.
    """
    from rarmodel.api.altering import what_if as asked  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    share_stdin(*instances)
    check_rows(rows_to, as_json=as_json)
    check_shown(table_to)
    page = output is not None and PurePath(output).suffix.lower() == PAGE
    form = None if output is None or page else picture_form(output)
    if page:
        check_output(output)
    with progress() as (name, report):
        found = asked(
            instances,
            changes,
            policy=policy,
            placement=placement,
            method=method,
            objective=objective,
            time_limit=time_limit,
            iterations=iterations,
            threads=threads,
            seed=seed,
            seeds=seeds,
            each=lambda title, _number, _total: name(title, limit=time_limit),
            progress=report,
            played=None if report is None else name.far,
        )
    if rows_to is not None:
        write_rows(found.rows(), rows_to)
    if table_to is not None:
        write_shown(found, table_to)
    if output is not None and page:
        write_page(output, found.page)
    elif output is not None and form is not None:
        write_picture(found.plot(), form, output)
    if as_json:
        answer_json(found.summary())
    elif rows_to != "-":
        show(tables.of_rows(found.title, found.table(), tables.ALTERNATIVES))
    for i, label in enumerate(found.alternatives):
        for note in dict.fromkeys(note for one in found.trials_of(i) for note in one.notes):
            say(one_line(f"{label}: {note}"))
        for trial in found.trials_of(i):
            say_first([f"{label}: {one_line(reason)}" for reason in trial.reasons], "reasons")
    if not found.complete:
        say(f"interrupted: {len(found.trials)} of {found.planned} runs are complete")
    return FINE if found.verified else UNSOLVED
