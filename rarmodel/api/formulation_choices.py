"""What goes with a formulation: its solver, that one's options, and data beside the instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rarmodel.defaults import AUTO
from rarmodel.errors import UsageError
from rarmodel.schema import Instance

if TYPE_CHECKING:
    from rarmodel.formulations import Formulation
    from rarmodel.solvers import Solver


def solvers_for(formulation: Formulation, asked: str | Solver | None) -> list[Solver]:
    """The requested solver; for `auto`, all that fit, the preferred one first."""
    from rarmodel.solvers import choice  # noqa: PLC0415 - few need it

    return choice.solvers_for(formulation, asked)


def require_named_solver(
    options: Mapping[str, Any] | None, solvers: Sequence[str | Solver]
) -> None:
    """Refuse options unless one solver is named, whose words they are."""
    if options and (len(solvers) != 1 or solvers[0] == AUTO):
        raise UsageError("solver_options need the solver whose words they are; name that one")


def check_entries(
    instances: Iterable[Instance], formulations: Sequence[Formulation], data: Mapping[str, Any]
) -> None:
    """Refuse entries of data that no formulation reads, as far as this can be known.

    Raises
    ------
    UsageError
        With all such entries, and suggestions.
    """
    if not data:
        return
    from rarmodel.exact import entries_read  # noqa: PLC0415 - loads Numba
    from rarmodel.formulations.entries import require_read  # noqa: PLC0415

    asked: set[str] = set()
    for instance in instances:
        for formulation in formulations:
            read = entries_read(instance, formulation, data)
            if read is None:
                return
            asked |= read
    require_read(data, asked, " and ".join(formulation.name for formulation in formulations))
