"""Counts of replicas that nearly reach what is asked for, ruled out in whole numbers.

A row `Σ_v a_v·N_v ≥ 1` asks for enough of what N_v replicas give, each a_v. A solver keeps rows
and whole numbers only up to about a millionth, so counts may pass that fall short by less. There
are few: all counts n with 1 − 10^-4 ≤ Σ_v a_v·n_v < 1 are listed in exact numbers. Enough replicas
are more than n_v for some v, and this can be asked for with small coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import pyomo.environ as pyo

NEAR = Fraction(1, 10_000)
"""What falls short by less than this part may pass for enough."""
MOST_TRIED = 100_000
"""Most counts that are tried for a row. Beyond, whoever reads a solution still checks it."""


class Row(NamedTuple):
    """A row of a model: enough of something in a piece of time.

    Attributes
    ----------
    service, piece
        Whose it is, and when.
    gives
        What a replica gives of the 1 that is asked for, the most first; and the variables that
        count the replicas that give so much.
    """

    service: str
    piece: int
    gives: Mapping[Fraction, Sequence[Any]]


def near_misses(gives: Sequence[Fraction]) -> list[tuple[int, ...]]:
    """All counts that nearly reach 1; none if there would be too many to try.

    Parameters
    ----------
    gives
        What each of one kind gives, above 0.
    """
    found: list[tuple[int, ...]] = []
    if not gives:
        return found
    *others, last = gives

    def counts(
        rest: Sequence[Fraction], left: Fraction
    ) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        if not rest:
            yield (), left
            return
        n = 0
        while n * rest[0] < left:
            for more, still in counts(rest[1:], left - n * rest[0]):
                yield (n, *more), still
            n += 1

    for tried, (some, left) in enumerate(counts(others, Fraction(1))):
        if tried >= MOST_TRIED:
            return []
        n = ceil(left / last) - 1  # The most that are not enough.
        if n >= 0 and left - n * last <= NEAR:
            found.append((*some, n))
    return found


def rule_out(m: Any, name: str, rows: Sequence[Row]) -> None:
    """Counts that are nearly enough are not enough, in whole numbers.

    For each near miss n of a row, over what replicas v give:

    ```
    Σ_c ready_ck ≥ (n_v + 1)·beyond_v      over the kinds c that give v
    Σ_v beyond_v ≥ 1
    ```

    Parameters
    ----------
    m
        The model.
    name
        Name of the rows; the variables are `{name}_beyond`.
    rows
        The rows.
    """
    known: dict[tuple[Fraction, ...], list[tuple[int, ...]]] = {}
    missed: list[tuple[Row, tuple[int, ...]]] = []
    for row in rows:
        gives = tuple(row.gives)
        if gives not in known:
            known[gives] = near_misses(gives)
        missed += [(row, counts) for counts in known[gives]]
    if not missed:
        return
    beyond = pyo.Var(
        [
            (row.service, row.piece, r, v)
            for r, (row, _) in enumerate(missed)
            for v in range(len(row.gives))
        ],
        domain=pyo.Binary,
    )
    more = pyo.ConstraintList()
    m.add_component(f"{name}_beyond", beyond)
    m.add_component(f"{name}_more", more)
    for r, (row, counts) in enumerate(missed):
        mine = [beyond[row.service, row.piece, r, v] for v in range(len(counts))]
        for count, ready, one in zip(counts, row.gives.values(), mine, strict=True):
            more.add(sum(ready) >= (count + 1) * one)
        more.add(sum(mine) >= 1)
