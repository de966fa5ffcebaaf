"""Lemmas 2, 3, 4 and Theorem 5 as inequalities between numbers, decided exactly.

All numbers are whole numbers or fractions. If a number is known only as a range, a claim is decided
if its verdict is the same for the whole range; otherwise it stays open.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

Number = int | Fraction


class Range(NamedTuple):
    """A number between `low` and `high`; None stands for infinity."""

    low: Number | None
    high: Number | None

    @property
    def known(self) -> bool:
        """Whether the range is a single number, or infinite."""
        return self.low == self.high

    def times(self, other: Range) -> Range:
        """The range of the product of two positive numbers."""
        return Range(_product(self.low, other.low), _product(self.high, other.high))

    def __str__(self) -> str:
        if self.known:
            return written(self.low)
        return f"{written(self.low)} to {written(self.high)}"


def exactly(number: Number | None) -> Range:
    """A known number as a range."""
    return Range(number, number)


def _product(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one * other


def plain(number: Number | None) -> float | None:
    """A number for JSON; None for infinity."""
    if number is None:
        return None
    return int(number) if number == int(number) else float(number)


def written(number: Number | None) -> str:
    """A number as text."""
    if number is None:
        return "infinity"
    return str(int(number)) if number == int(number) else f"{float(number):.6g}"


@dataclass(frozen=True)
class Quantities:
    """The quantities in the claims, for one schedule. Times are in slots.

    Attributes
    ----------
    makespan
        The greatest completion time.
    limit
        θ̃_u: the tightest limit that Algorithm 1 returned; for any other schedule, the tightest
        limit that it keeps.
    returned
        Whether Algorithm 1 returned the limit.
    estimated_load
        Ŵ_max: the greatest `Σ_j ρ̂_j/u` of a GPU.
    real_load
        W_max: the greatest sum of real execution times of a GPU.
    largest_job
        n_g: the most GPUs that a job needs.
    upper
        u; 1, since ρ̂_j is the least execution time.
    lower, spread
        l and φ, from bounds on the greatest execution times. Speeds that can fall to 0 make
        `lower` 0 and `spread` infinite.
    attained_spread
        φ from attained execution times: the greatest over all feasible schedules.
    least_limit
        θ*_u: the least limit for which jobs can be shared out among GPUs.
    optimum
        T*: the least makespan.
    """

    makespan: int
    limit: int
    returned: bool
    estimated_load: int
    real_load: int
    largest_job: int
    upper: int
    lower: Fraction
    spread: Fraction | None
    attained_spread: Range
    least_limit: Range
    optimum: Range

    @property
    def factor(self) -> Range:
        """`φ·(u/l)`."""
        if self.spread is None or self.lower == 0:
            return exactly(None)
        return exactly(self.spread * self.upper / self.lower)

    @property
    def attained_factor(self) -> Range:
        """`φ·(u/l)` from attained execution times: l is then `1/φ`, as ρ̂_j is the least one."""
        return self.attained_spread.times(self.attained_spread)


@dataclass(frozen=True)
class Claim:
    """An inequality of the paper, and whether it holds for one schedule.

    Attributes
    ----------
    claim
        Name of the claim: `lemma-2`, …
    statement
        The inequality in the paper's symbols.
    left
        Number on the left.
    right
        Number on the right, or its range.
    holds
        Whether it holds; None if the range leaves it open.
    meaning
        Explanation of the numbers.
    """

    claim: str
    statement: str
    left: Number
    right: Range
    holds: bool | None
    meaning: str

    def summary(self) -> dict[str, Any]:
        """The claim as plain data; null for an infinite number, and for an unknown `right`."""
        return {
            "claim": self.claim,
            "statement": self.statement,
            "left": plain(self.left),
            "right": plain(self.right.low) if self.right.known else None,
            "right_low": plain(self.right.low),
            "right_high": plain(self.right.high),
            "holds": self.holds,
            "meaning": self.meaning,
        }


def at_most(left: Number, right: Range) -> bool | None:
    """Whether `left ≤ right`; None if the range of the right side does not decide."""
    if right.low is None or left <= right.low:
        return True
    if right.high is not None and left > right.high:
        return False
    return None


def claims_on(quantities: Quantities) -> tuple[Claim, ...]:
    """Every claim of the paper, on one schedule."""
    q = quantities
    limit = f"the limit θ̃_u that Algorithm 1 returned, {q.limit}"
    if not q.returned:
        limit = (
            f"the tightest limit that the schedule keeps, {q.limit}, which is the same by "
            "definition, since no algorithm returned one"
        )
    load = f"the estimated time of the busiest GPU, Ŵ_max = {q.estimated_load}"
    widest = f"the largest job's GPUs, n_g = {q.largest_job}"
    wide, factor, attained = exactly(q.largest_job), q.factor, q.attained_factor
    vacuous = ""
    if factor.low is None:
        vacuous = "; a job's speed can fall to 0, so that says nothing"
    times = f"φ·(u/l) = {factor} times"
    least = f"the least limit of all ways to share jobs out, θ*_u = {q.least_limit}"
    best = f"the optimum, T* = {q.optimum}"
    source = "that occur" if attained.known else "that occur or might occur"
    occurring = f"φ·(u/l) = {attained}, from execution times {source}, times"

    def claim(name: str, statement: str, left: int, right: Range, meaning: str) -> Claim:
        return Claim(name, statement, left, right, at_most(left, right), meaning)

    return (
        claim("lemma-2", "Ŵ_max ≤ θ̃_u", q.estimated_load, exactly(q.limit), f"{load}; {limit}"),
        Claim(
            "lemma-2-equality",
            "Ŵ_max = θ̃_u",
            q.estimated_load,
            exactly(q.limit),
            q.estimated_load == q.limit,
            f"as printed, with equality: {load}; {limit}",
        ),
        claim(
            "lemma-3",
            "makespan ≤ n_g·Ŵ_max",
            q.makespan,
            wide.times(exactly(q.estimated_load)),
            f"makespan; {widest}, times {load}",
        ),
        claim(
            "lemma-3-real",
            "makespan ≤ n_g·W_max",
            q.makespan,
            wide.times(exactly(q.real_load)),
            f"makespan; {widest}, times the real time of the busiest GPU, W_max = {q.real_load}",
        ),
        claim(
            "lemma-4",
            "θ̃_u ≤ φ·(u/l)·θ*_u",
            q.limit,
            factor.times(q.least_limit),
            f"{limit}; {times} {least}{vacuous}",
        ),
        claim(
            "lemma-4-load",
            "Ŵ_max ≤ φ·(u/l)·θ*_u",
            q.estimated_load,
            factor.times(q.least_limit),
            f"Lemma 4 if Lemma 2 were an equality: {load}; {times} {least}{vacuous}",
        ),
        claim(
            "lemma-4-attained",
            "θ̃_u ≤ φ·(u/l)·θ*_u",
            q.limit,
            attained.times(q.least_limit),
            f"{limit}; {occurring} {least}",
        ),
        claim(
            "theorem-5",
            "makespan ≤ n_g·φ·(u/l)·T*",
            q.makespan,
            wide.times(factor).times(q.optimum),
            f"makespan; {widest}, times {times} {best}{vacuous}",
        ),
        claim(
            "theorem-5-attained",
            "makespan ≤ n_g·φ·(u/l)·T*",
            q.makespan,
            wide.times(attained).times(q.optimum),
            f"makespan; {widest}, times {occurring} {best}",
        ),
    )
