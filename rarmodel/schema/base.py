"""The base of all schemas, and the kinds of number and name that their fields are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MAX_INTEGER = 2**53 - 1
"""Largest integer that JSON carries exactly between programs (RFC 7493), and so our largest."""


class Record(BaseModel):
    """A frozen, validated piece of an input; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


Count = Annotated[int, Field(strict=True, ge=1, le=MAX_INTEGER)]
"""A whole number of at least 1; neither `2.0` nor `"2"` nor `true`."""

Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
"""A finite number above 0."""

NonNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
"""A finite number of at least 0."""

Name = Annotated[str, Field(strict=True, min_length=1)]
"""A non-empty text."""


def repeated_names(names: Iterable[str]) -> list[tuple[int, str]]:
    """Index and name of each name that an earlier one already has."""
    seen: set[str] = set()
    repeated = []
    for index, name in enumerate(names):
        if name in seen:
            repeated.append((index, name))
        seen.add(name)
    return repeated
