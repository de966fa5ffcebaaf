"""The commands that list parts: `methods`, `formulations`, `bounds` and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import rich_click as click

from .options import JSON
from .terminal import answer_json, show

if TYPE_CHECKING:
    from rich.table import Table

Rows = Sequence[Mapping[str, Any]]


@click.command()
@JSON
def methods(as_json: bool) -> int:  # noqa: FBT001
    """List the methods for `solve --method`, with a description of each."""
    from rarmodel import api  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    return _list(api.list_methods(), tables.methods, as_json=as_json)


@click.command()
@JSON
def formulations(as_json: bool) -> int:  # noqa: FBT001
    """List the formulations for `solve --formulation`, with the installed solvers for each."""
    from rarmodel import api  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    return _list(api.list_formulations(), tables.formulations, as_json=as_json)


@click.command()
@JSON
def objectives(as_json: bool) -> int:  # noqa: FBT001
    """List the objectives for `--objective`, with their units."""
    from rarmodel import api  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    return _list(api.list_objectives(), tables.objectives, as_json=as_json)


@click.command()
@JSON
def bounds(as_json: bool) -> int:  # noqa: FBT001
    """List the lower bounds, with the objectives and the features for which each holds."""
    from rarmodel import api  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    return _list(api.list_bounds(), tables.bounds, as_json=as_json)


@click.command()
@JSON
def neighbourhoods(as_json: bool) -> int:  # noqa: FBT001
    """List the neighbourhoods of search, with the objectives and features of each."""
    from rarmodel import api  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    return _list(api.list_neighbourhoods(), tables.neighbourhoods, as_json=as_json)


@click.command()
@JSON
def policies(as_json: bool) -> int:  # noqa: FBT001
    """List the policies for `simulate --policy`, with what they know and do."""
    from rarmodel import api  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    return _list(api.list_policies(), tables.policies, as_json=as_json)


@click.command()
@JSON
def placements(as_json: bool) -> int:  # noqa: FBT001
    """List the placements for `simulate --placement`."""
    from rarmodel import api  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    return _list(api.list_placements(), tables.placements, as_json=as_json)


@click.command()
@JSON
def solvers(as_json: bool) -> int:  # noqa: FBT001
    """List the solvers for `--solver`, with their versions and the models they solve."""
    from rarmodel import api  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    return _list(api.list_solvers(), tables.solvers, as_json=as_json)


def _list(rows: Rows, table: Callable[[Rows], Table], *, as_json: bool) -> int:
    if as_json:
        answer_json(rows)
    else:
        show(table(rows))
    return 0
