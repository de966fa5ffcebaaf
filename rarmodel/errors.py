"""What a user can get wrong, as exceptions that say where and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


def one_line(text: str) -> str:
    """Text with line breaks, control characters and halves of surrogate pairs written as escapes.

    A name or a file name can hold any of them, and what we say of it stays one line.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


FEW = 8
"""Names that a line lists."""


def listed(names: Sequence[str]) -> str:
    """Names for a line: the first few, and how many more there are."""
    few = ", ".join(repr(name) for name in names[:FEW])
    return few + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


class Problem(NamedTuple):
    """One thing that is wrong with an input."""

    place: str
    """Where: a path such as `jobs[3].gpus`; empty for the input as a whole."""

    message: str
    """What is wrong there and what would be right, in one line."""


class RarmodelError(Exception):
    """Base of the errors that a user can cause."""


class InputError(RarmodelError, ValueError):
    """An input is malformed or meaningless; carries all of its problems at once.

    Parameters
    ----------
    problems
        Each problem with its place.
    source
        The file (or other origin) the input came from; empty if it was made in Python.
    """

    def __init__(self, problems: Iterable[Problem], source: str = "") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__("\n".join(self.lines()))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Problem, ...], str]]:
        return type(self), (self.problems, self.source)

    def lines(self) -> list[str]:
        """One line for each problem: source, place, what is wrong and what would be right."""
        return [
            one_line(": ".join(part for part in (self.source, *problem) if part))
            for problem in self.problems
        ]


class UsageError(RarmodelError, ValueError):
    """A request that cannot be carried out as asked: an unknown name, options that exclude."""


class VerificationError(RarmodelError):
    """A method or formulation made a schedule that the verifier refuses; nobody gets to see it."""


class NoScheduleError(RarmodelError):
    """What was asked for needs a schedule, and none was found."""
