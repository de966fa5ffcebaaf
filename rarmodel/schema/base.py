"""The base of all schemas, and the types of numbers and names in their fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from math import gcd, lcm
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
)

from rarmodel.errors import InputError, Problem

MAX_INTEGER = 2**53 - 1
"""Largest integer that JSON carries exactly between programs (RFC 7493); also our largest."""

LEAST_POSITIVE, MAX_NUMBER = 1e-30, 1e30
"""Largest number: a greater one is a mistake, and products of such numbers would overflow."""


class Record(BaseModel):
    """A frozen, validated part of an input; it refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def with_shared_field_names(records: Iterable[Record]) -> None:
    """Let records that were given the same fields share one set of the names of these.

    Pydantic keeps a set with each record, which takes as much memory as all else in a job. A frozen
    record never changes its set, and a copy has a set of its own.
    """
    shared: dict[frozenset[str], set[str]] = {}
    for one in records:
        given = one.__pydantic_fields_set__
        same = shared.setdefault(frozenset(given), given)
        object.__setattr__(one, "__pydantic_fields_set__", same)


Count = Annotated[int, Field(strict=True, ge=1, le=MAX_INTEGER)]
"""A whole number of at least 1; `2.0`, `"2"` and `true` are refused."""

Integer = Annotated[int, Field(strict=True, ge=-MAX_INTEGER, le=MAX_INTEGER)]
"""A whole number, below 0 too."""

NonNegativeInteger = Annotated[int, Field(strict=True, ge=0, le=MAX_INTEGER)]
"""A whole number of at least 0."""

Positive = Annotated[
    float, Field(strict=True, ge=LEAST_POSITIVE, le=MAX_NUMBER, allow_inf_nan=False)
]
"""A finite number above 0."""

NonNegative = Annotated[float, Field(strict=True, ge=0, le=MAX_NUMBER, allow_inf_nan=False)]
"""A finite number of at least 0."""


def exactly(number: float) -> Fraction:
    """A number as the decimal that is written."""
    return Fraction(str(number))


def common_unit(numbers: Iterable[float]) -> Fraction:
    """The greatest number of which all of some numbers are multiples; 1 if all are 0."""
    whole = [exact for number in numbers if (exact := exactly(number))]
    divisor = lcm(*(one.denominator for one in whole))
    return Fraction(gcd(*(int(one * divisor) for one in whole)) or 1, divisor)


BILLION = 10**9
"""Factors are whole numbers of billionths."""
MAX_FACTOR = 1_000
"""Largest factor: a greater one is a mistake, and sums of products of factors stay exact."""


def _of_billionths(number: float) -> float:
    if (exactly(number) * BILLION).denominator > 1:
        raise InputError([Problem("", f"{number!r}; at most 9 decimals are expected")])
    return number


Factor = Annotated[
    float,
    Field(strict=True, ge=0, le=MAX_FACTOR, allow_inf_nan=False),
    AfterValidator(_of_billionths),
]
"""A number from 0 to 1,000 with at most 9 decimals, which is multiplied exactly."""

SharingFactor = Annotated[float, Field(strict=True, ge=0, le=MAX_FACTOR, allow_inf_nan=False)]
"""A number from 0 to 1,000."""

ONE, SEVERAL = "<one>", "<several>"
"""What Pydantic calls the two shapes of a field that holds one value or several."""


def _listed(value: object) -> str:
    return SEVERAL if isinstance(value, list | tuple) else ONE


def _keyed(value: object) -> str:
    return SEVERAL if isinstance(value, dict) else ONE


one_or_listed, one_or_keyed = Discriminator(_listed), Discriminator(_keyed)
"""They choose between a value tagged `ONE`, and a list or an object tagged `SEVERAL`."""

Name = Annotated[str, Field(strict=True, min_length=1)]
"""Non-empty text."""


def _number_one(value: object) -> object:
    if isinstance(value, bool | float):  # Python takes `True` and `1.0` for 1.
        raise InputError([Problem("", f"{json.dumps(value)}; 1 is expected")])
    return value


Version = Annotated[Literal[1], BeforeValidator(_number_one)]
"""The number 1."""


def repeated_names(names: Iterable[str]) -> list[tuple[int, str]]:
    """Index and name of each name that an earlier entry already has."""
    seen: set[str] = set()
    repeated = []
    for index, name in enumerate(names):
        if name in seen:
            repeated.append((index, name))
        seen.add(name)
    return repeated
