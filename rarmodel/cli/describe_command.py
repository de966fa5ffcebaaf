"""The command `describe`: summarise an instance."""

from __future__ import annotations

import rich_click as click

from .options import JSON
from .terminal import answer, answer_json, show, show_lines


@click.command()
@click.argument("instance")
@click.option(
    "--list-jobs",
    "jobs",
    is_flag=True,
    help="Also list each job, with its execution times by placement.",
)
@JSON
def describe(instance: str, jobs: bool, as_json: bool) -> int:  # noqa: FBT001
    """Summarise INSTANCE without solving it: sizes, load, execution times, lower bounds."""
    from rarmodel.api import library_listing  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    found = library_listing.describe(instance)
    if as_json:
        answer_json(found.summary(jobs=jobs))
        return 0
    show_lines(found.lines())
    each = list(found.job_rows()) if jobs else []
    for rows in (found.use_rows(), found.size_rows(), each, found.bound_rows()):
        if rows:
            answer("")
            show(tables.of_rows(None, rows, tables.DESCRIBED))
    return 0
