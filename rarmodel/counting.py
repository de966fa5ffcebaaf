"""Nouns by their number, as sentences, tables and charts tell them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A count with its noun: `1 slot`, `2,000 slots`.

    Parameters
    ----------
    number
        How many.
    noun
        The noun in the singular; the plural has an s.
    """
    return f"{number:,} {nouns(number, noun)}"


def nouns(number: int, noun: str) -> str:
    """A noun in the singular or plural: `job`, `jobs`; the parameters are those of `counted`."""
    return noun if number == 1 else f"{noun}s"
