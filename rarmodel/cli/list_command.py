"""The command `list`: the kinds of parts, and the parts of a kind."""

from __future__ import annotations

import rich_click as click

from .options import JSON
from .terminal import answer_json, show


@click.command("list")
@click.argument("kind", required=False, metavar="[KIND]")
@JSON
def list_parts(kind: str | None, as_json: bool) -> int:  # noqa: FBT001
    """List the parts of a KIND, with what each is for: methods, formulations, solvers and others.

    Without KIND it lists the kinds.
    """
    from rarmodel.api import listing  # noqa: PLC0415

    from .part_tables import PARTS  # noqa: PLC0415

    rows = listing.parts(kind)
    if as_json:
        answer_json(rows)
    else:
        show(PARTS[kind](rows))
    return 0
