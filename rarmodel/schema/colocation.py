"""How jobs suffer beside others on their GPUs, as measured pairs (model, section 15)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from rarmodel.errors import Problem

from .base import Name, Record

MAX_SLOWDOWN = 1_000_000
"""Greatest slowdown: a greater one is a mistake. It is as great as sensitivity times pressure."""


class Colocated(Record):
    """How a job of one kind suffers beside one of another on a GPU; not the other way round."""

    kind: Name
    """Kind of the job that suffers."""

    beside: Name
    """Kind of the other job."""

    slowdown: Annotated[float, Field(strict=True, ge=1, le=MAX_SLOWDOWN, allow_inf_nan=False)]
    """How many times as long the passes of the first take, x."""


def repeated_pairs(pairs: Sequence[Colocated]) -> Iterator[Problem]:
    """Pairs that an earlier entry has already."""
    first: dict[tuple[str, str], int] = {}
    for i, one in enumerate(pairs):
        pair = one.kind, one.beside
        if pair in first:
            message = (
                f"{one.kind!r} beside {one.beside!r} once more; entry [{first[pair]}] gives this "
                "pair, and each pair may be given once"
            )
            yield Problem(f"[{i}]", message)
        else:
            first[pair] = i
