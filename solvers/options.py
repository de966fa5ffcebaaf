"""Options of solvers by their own names: which there are, and what their values must be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any

from rarmodel import registry
from rarmodel.errors import UsageError

from .answer import Solver


def require_options(solver: Solver, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver does not have, before anything is solved.

    Raises
    ------
    UsageError
        With what is wrong; or if the solver takes none.
    """
    if not options:
        return
    check = getattr(solver, "check_options", None)
    if check is None:
        raise UsageError(f"solver {solver.name!r} takes no options of its own; leave them out")
    with registry.calling("solvers", solver):
        check(options)


def unknown_option(solver: str, name: str, known: Iterable[str], where: str) -> UsageError:
    """The error about an option that a solver does not have.

    Parameters
    ----------
    solver, name
        Names of the solver and of the option.
    known
        The options that there are.
    where
        Address of the solver's list of options.
    """
    return UsageError(
        f"solver {solver!r} has no option {name!r}{_close(name, known)}; {where} lists them"
    )


def _close(name: str, known: Iterable[str]) -> str:
    """Names like a wrong one, for a message; the end of a path counts as the whole."""
    by_word: dict[str, str] = {}
    for one in sorted(known, key=len):
        by_word[one.lower()] = one
        by_word.setdefault(one.rpartition("/")[2].lower(), one)
    close = get_close_matches(name.lower(), by_word, 3)
    close = close or [word for word in by_word if name.lower() in word][:3]
    found = list(dict.fromkeys(by_word[word] for word in close))
    return f" (was {' or '.join(map(repr, found))} meant?)" if found else ""


def wrong_value(solver: str, name: str, value: object, expected: str) -> UsageError:
    """The error about a value that an option cannot have."""
    return UsageError(f"solver {solver!r}, option {name!r}: {value!r}; {expected} is expected")


def set_against_a_fault(solver: str, name: str) -> UsageError:
    """The error about an option that rarmodel needs itself; see `rarmodel.solver_faults`."""
    return UsageError(
        f"solver {solver!r}, option {name!r}: rarmodel sets it, against a fault of the solver"
    )


def value_like(present: object, solver: str, name: str, value: object) -> Any:
    """A value of the type that an option has at present, also from the text of a command line.

    Raises
    ------
    UsageError
        If it cannot be one.
    """
    made: object = None
    if isinstance(present, bool):
        words, made = "true or false", _truth(value)
    elif isinstance(present, int):
        words, number = "a whole number", _number(value)
        made = int(number) if number is not None and number == int(number) else None
    elif isinstance(present, float):
        words, made = "a number", _number(value)
    else:
        words, made = "a text", value if isinstance(value, str) else None
    if made is None:
        raise wrong_value(solver, name, value, words)
    return made


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "on": True, "false": False, "off": False}.get(str(value).lower())


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) else None
