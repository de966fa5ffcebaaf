"""What the arguments of functions for campaigns must be."""

from __future__ import annotations

from rarmodel.argument_checks import (
    Check,
    checked,
    function,
    is_path,
    optional,
    path,
    several,
    text,
    truth,
    whole,
)


def _are_sources(value: object) -> str | None:
    if is_path(value):
        return None
    listed = several(value) is None and all(map(is_path, value))  # type: ignore[call-overload]
    return (
        None if listed else "a file, the name of a bundled campaign, or a list of them is expected"
    )


CHECKS: dict[str, Check] = {
    "sources": _are_sources,
    "source": path,
    "folder": path,
    "output": path,
    "parts": optional(several),
    "over": optional(text),
    "measure": text,
    "workers": optional(whole(1)),
    "scheduler": optional(text),
    "retry_failed": truth,
    "tell": optional(function),
    "text": text,
}

asked = checked(CHECKS)
"""Let a function refuse arguments that are wrong, all at once."""
