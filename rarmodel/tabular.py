"""Values as text in tables, whoever draws them."""

from __future__ import annotations

NONE = "-"
"""What stands for a value that there is not."""


def number(value: float | None, form: str = "") -> str:
    """A number in a format, or a dash for none."""
    return NONE if value is None else format(value, form)
