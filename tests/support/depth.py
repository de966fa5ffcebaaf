"""How deep a test goes: enough in every run to notice what it is for, and on demand much deeper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")


def examples(count: int, **more: Any) -> settings:
    """Settings of a property whose examples take long.

    Ordinary runs draw `count` of them, and `pytest --hypothesis-profile=thorough` ten times as
    many, as the profiles in `tests/conftest.py` are ten times apart.
    """
    times = settings().max_examples // settings.get_profile("shared").max_examples
    return settings(max_examples=count * times, deadline=None, **more)


def first(count: int, cases: Sequence[T]) -> list[Any]:
    """All cases of a parameter, of which only the first are not slow.

    The others repeat with other numbers what these notice.
    """
    return [*cases[:count], *(pytest.param(case, marks=pytest.mark.slow) for case in cases[count:])]
