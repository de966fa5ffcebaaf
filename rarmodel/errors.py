"""Errors that a user can cause. Each says where the problem is and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


def one_line(text: str) -> str:
    """Escape line breaks, control characters and halves of surrogate pairs, so text stays one line.

    Names and file names in messages can contain any of these.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


FEW = 8
"""Most names that a line lists."""


def listed(names: Sequence[str]) -> str:
    """List names in a line: the first few, and the number of the others."""
    few = ", ".join(repr(name) for name in names[:FEW])
    return few + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


class Problem(NamedTuple):
    """One problem of an input."""

    place: str
    """Place of the problem: a path such as `jobs[3].gpus`; empty for the input as a whole."""

    message: str
    """The problem, and what would be right, in one line."""


class RarmodelError(Exception):
    """Base class of the errors that a user can cause."""


class InputError(RarmodelError, ValueError):
    """The input is malformed or meaningless; the error has all problems at once.

    Parameters
    ----------
    problems
        Each problem with its place.
    source
        The file or other source of the input; empty if it was made in Python.
    """

    def __init__(self, problems: Iterable[Problem], source: str = "") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__("\n".join(self.lines()))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Problem, ...], str]]:
        return type(self), (self.problems, self.source)

    def lines(self) -> list[str]:
        """One line for each problem: source, place, problem, and what would be right."""
        return [
            one_line(": ".join(part for part in (self.source, *problem) if part))
            for problem in self.problems
        ]


class UsageError(RarmodelError, ValueError):
    """The request cannot be carried out: an unknown name, or options that exclude each other."""


class PartError(UsageError):
    """A part that a user wrote fails, or returns nonsense; its cause has the traceback."""


class VerificationError(RarmodelError):
    """A method or formulation made a schedule that breaks a constraint; nobody gets to see it."""


class NoScheduleError(RarmodelError):
    """The request needs a schedule, and none was found."""
