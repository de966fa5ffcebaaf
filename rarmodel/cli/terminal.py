"""Where output goes: answers to stdout, everything else to stderr."""

from __future__ import annotations

import codecs
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, TextIO

from rarmodel.duration import duration
from rarmodel.errors import InputError, Problem, one_line

if TYPE_CHECKING:
    from rich.table import Table

    from rarmodel.schema import SlotTime

_CONTROLS = re.compile("[\x7f-\x9f]")
"""Control characters that JSON leaves as they are, and terminals may obey."""
MOST_LINES = 50
"""Most lines that tell of faults: an input can have as many as it has jobs."""
UNBOUNDED = 1_000_000
"""Width of tables when stdout is no terminal: a row is a line."""


def say(text: str) -> None:
    """Write a line to stderr, as `one_line` has it: what names hold does not reach the terminal."""
    if sys.stderr is not None:  # None would mean stdout to `print`.
        with suppress(OSError):
            print(one_line(text.expandtabs()), file=sys.stderr, flush=True)


def say_first(lines: Sequence[str], what: str) -> None:
    """Write the first lines to stderr, and how many more there are of what they tell."""
    for line in lines[:MOST_LINES]:
        say(line)
    if len(lines) > MOST_LINES:
        say(f"and {len(lines) - MOST_LINES:,} more {what}")


class _Saying(logging.Handler):
    """Says what the library logs."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record to stderr."""
        say(record.getMessage())


_SAYING = _Saying()


def say_what_is_logged() -> None:
    """Let the user hear what the library logs: that it compiles, and how long that took."""
    log = logging.getLogger("rarmodel")
    log.addHandler(_SAYING)
    log.setLevel(logging.INFO)


def answer(text: str) -> None:
    """Write a line to stdout.

    A reader that has gone away (`| head`) is no error: the exit code still tells the outcome.

    Raises
    ------
    InputError
        If it cannot be written, for instance because a disk is full.
    """
    if sys.stdout is None:
        return
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError as error:
        _discard(sys.stdout)
        reason = error.strerror or str(error)
        message = f"cannot be written: {reason[:1].lower()}{reason[1:]}"
        raise InputError([Problem("", message)], "standard output") from error


def answer_json(value: object) -> None:
    """Write plain data to stdout as JSON."""
    answer_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def answer_text(text: str) -> None:
    """Write a text of JSON to stdout, with escapes for what is no ASCII unless that is UTF-8."""
    text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if codecs.lookup(encoding).name != "utf-8":
        text = "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)
    answer(text)


def show(table: Table) -> None:
    """Write a table to stdout."""
    from rich.console import Console  # noqa: PLC0415

    width = None if sys.stdout is not None and sys.stdout.isatty() else UNBOUNDED
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(table)
    answer("\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n"))


def _discard(stream: TextIO) -> None:
    """Send what the stream still holds nowhere, lest Python complain of it on exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Namer(Protocol):
    """Names the work that a progress line is about, and says how long its slots are."""

    def __call__(self, work: str, time: SlotTime | None = None) -> None:
        """Name the work, and give what turns its slots into seconds."""


def _silent(work: str, time: SlotTime | None = None) -> None:
    pass


@contextmanager
def progress() -> Iterator[tuple[Namer, Callable[[float | None, float | None], None] | None]]:
    """A live line on stderr if it is a terminal; functions to name the work and to report on it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield _silent, None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from rarmodel.bounds import relative_gap  # noqa: PLC0415

    console = Console(stderr=True)
    with console.status("working …") as status:
        doing, slots = "working …", None

        def name(work: str, time: SlotTime | None = None) -> None:
            nonlocal doing, slots
            doing, slots = one_line(work), time
            status.update(Text(doing))

        def report(incumbent: float | None, bound: float | None) -> None:
            parts = [doing]
            if incumbent is not None:
                by_clock = f" ({duration(slots.seconds(incumbent))})" if slots else ""
                parts.append(f"makespan {incumbent:.0f}{by_clock}")
            if bound is not None:
                parts.append(f"bound {bound:.0f}")
            if incumbent and bound is not None:
                parts.append(f"gap {relative_gap(incumbent, bound):.1%}")
            status.update(Text("  ".join(parts)))

        yield name, report
