"""Where output goes: answers to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

PIPED_WIDTH = 160
"""Width of tables when stdout is no terminal."""


def say(text: str) -> None:
    """Write a line to stderr."""
    print(text, file=sys.stderr)


def answer(text: str) -> None:
    """Write a line to stdout."""
    print(text)


def show(table: Table) -> None:
    """Write a table to stdout."""
    from rich.console import Console  # noqa: PLC0415

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPED_WIDTH)
    console.print(table)


@contextmanager
def progress() -> Iterator[
    tuple[Callable[[str], None], Callable[[float | None, float | None], None] | None]
]:
    """A live line on stderr if it is a terminal; functions to name the work and to report on it."""
    if not sys.stderr.isatty():
        yield lambda _: None, None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.markup import escape  # noqa: PLC0415

    console = Console(stderr=True)
    with console.status("working …") as status:
        doing = "working …"

        def name(work: str) -> None:
            nonlocal doing
            doing = escape(work)
            status.update(doing)

        def report(incumbent: float | None, bound: float | None) -> None:
            parts = [doing]
            if incumbent is not None:
                parts.append(f"makespan {incumbent:.0f}")
            if bound is not None:
                parts.append(f"bound {bound:.0f}")
            if incumbent and bound is not None:
                parts.append(f"gap {(incumbent - bound) / incumbent:.1%}")
            status.update("  ".join(parts))

        yield name, report
