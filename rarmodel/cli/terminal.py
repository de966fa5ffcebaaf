"""Where output goes: answers to stdout, everything else to stderr."""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import EBADF
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, TextIO

from rarmodel.duration import duration
from rarmodel.errors import InputError, Problem, one_line

from .text_tables import Line, TextTable, named_lines, plain, width_of, wrapped

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from rarmodel.online.play import Progress
    from rarmodel.schema import SlotTime

_CONTROLS = re.compile("[\x7f-\x9f]")
"""Control characters that JSON does not escape and that terminals may obey."""
MOST_LINES = 50
"""Most lines of errors that are shown: an input can have one error per job."""


def say(text: str) -> None:
    """Write a line to stderr through `one_line`, so that names cannot control the terminal.

    A terminal shows it in lines of whole words.
    """
    if sys.stderr is not None:  # None would mean stdout to `print`.
        line = one_line(text.expandtabs())
        with suppress(OSError):
            if sys.stderr.isatty():
                line = _indented(line, _stderr_width())
            print(line, file=sys.stderr, flush=True)


def _stderr_width() -> int:
    """Columns of the terminal that stderr is; stdout may be none."""
    with suppress(OSError, ValueError):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
        if columns and "COLUMNS" not in os.environ:
            return columns
    return shutil.get_terminal_size().columns


def _indented(line: str, width: int) -> str:
    """Whole words in a width, and all but the first line indented.

    The path with which an error begins is not broken at its spaces either.
    """
    path, colon, rest = line.partition(": ")
    if colon and os.sep in path:
        line = path.replace(" ", _NO_BREAK) + colon + rest
    parts = [line] if width_of(line) <= width else wrapped(line, width - len(_INDENT))
    return f"\n{_INDENT}".join(parts).replace(_NO_BREAK, " ")


_NO_BREAK, _INDENT = "\x00", "  "
"""Stands for a space where no line may end; the start of all lines but the first."""


def say_first(lines: Sequence[str], what: str) -> None:
    """Write the first lines to stderr, and the number of the others."""
    for line in lines[:MOST_LINES]:
        say(line)
    if len(lines) > MOST_LINES:
        say(f"and {len(lines) - MOST_LINES:,} more {what}")


class _Saying(logging.Handler):
    """Writes the library's log to stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record to stderr."""
        say(record.getMessage())


_SAYING = _Saying(logging.INFO)


class _Compiling(logging.Handler):
    """Shows on the progress line which function is compiled, and for how long some have been."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self._show, self._count, self._begun = show, 0, perf_counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Show what a record says, unless it is one for `_Saying`."""
        if record.levelno != logging.DEBUG:
            return
        if self._count == 0:
            self._begun = perf_counter()
        self._count += 1
        passed = duration(perf_counter() - self._begun)
        self._show(f"{record.getMessage()}  {self._count} so far in {passed}")


@contextmanager
def compilation_shown(show: Callable[[str], None]) -> Iterator[None]:
    """Show each function that is compiled in here."""
    log, shown = logging.getLogger("rarmodel"), _Compiling(show)
    level = log.level
    log.addHandler(shown)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.removeHandler(shown)
        log.setLevel(level)


def say_what_is_logged() -> None:
    """Show the library's log: that it compiles, and how long this took."""
    log = logging.getLogger("rarmodel")
    log.addHandler(_SAYING)
    log.setLevel(logging.INFO)


def answer(text: str) -> None:
    """Write a line to stdout.

    Raises
    ------
    InputError
        If stdout cannot be written: it is closed, its reader is gone (`| head`), a disk is full.
    """
    with _to_stdout():
        encoding = sys.stdout.encoding or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def finish() -> None:
    """Write what is still to be written to stdout; errors as those of `answer`."""
    with _to_stdout():
        sys.stdout.flush()


@contextmanager
def _to_stdout() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise lost(error) from error


def lost(error: OSError) -> InputError:
    """The error for an answer that could not be written to stdout."""
    _discard(sys.stdout)
    reason = error.strerror or str(error)
    if isinstance(error, BrokenPipeError):
        reason = "its reader is gone"
    message = f"cannot be written: {reason[:1].lower()}{reason[1:]}"
    return InputError([Problem("", message)], "standard output")


class ClosedOutput(io.TextIOBase):
    """Standard output that is closed (`>&-`): nothing can be written to it."""

    def write(self, _text: str) -> int:
        """Refuse."""
        raise OSError(EBADF, "it is closed")


def occupy_closed_streams() -> None:
    """Stand in for standard streams that are closed.

    Otherwise the next file that anybody opens takes the place of the stream, and what a library
    prints goes into that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # Takes the least number that is free.
    if sys.stdout is None:
        sys.stdout = ClosedOutput()


def require_stdout() -> None:
    """Before long work, refuse if its answer can go nowhere; errors as those of `answer`."""
    if isinstance(sys.stdout, ClosedOutput):
        with _to_stdout():
            sys.stdout.write("")


def answer_json(value: object) -> None:
    """Write plain data to stdout as JSON."""
    answer_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def answer_text(text: str) -> None:
    """Write JSON text to stdout; escape non-ASCII characters unless stdout is UTF-8."""
    text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if codecs.lookup(encoding).name != "utf-8":
        text = "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)
    answer(text)


def show(table: TextTable) -> None:
    """Write a table to stdout: to the width of a terminal, else each row as one line."""
    _answer_lines(table.lines(_width()))


def show_lines(lines: Mapping[str, str]) -> None:
    """Write names and values to stdout, on a terminal in its width."""
    _answer_lines(named_lines(lines, _width()))


def show_text(text: str) -> None:
    """Write a sentence to stdout, on a terminal in lines of whole words."""
    width, line = _width(), one_line(text)
    for part in [line] if width is None else wrapped(line, width):
        answer(part)


def _width() -> int | None:
    """Columns of the terminal that stdout is; None if it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _answer_lines(lines: Sequence[Line]) -> None:
    """Write lines to stdout, in colour if it is a terminal that has colours."""
    if not sys.stdout.isatty():
        answer("\n".join(map(plain, lines)))
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        for line in lines:
            text = Text.assemble(*line)
            text.rstrip()
            console.print(text, soft_wrap=True)
    answer(capture.get().removesuffix("\n"))


def _discard(stream: TextIO) -> None:
    """Discard the stream's buffer, so that Python does not complain on exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Doing:
    """The progress line: the work, the best values so far, and the time that has passed.

    While functions are compiled, it says which. It is one line. Where it has no room for all, the
    bound leaves first, then the gap, the function, the clock time of a makespan, and the value.
    """

    def __init__(self) -> None:
        self("working …")

    def __call__(
        self,
        work: str,
        time: SlotTime | None = None,
        *,
        limit: float | None = None,
        objective: str | None = None,
    ) -> None:
        """Begin some work.

        Parameters
        ----------
        work
            What is done.
        time
            Converts the slots of a makespan to seconds.
        limit
            Seconds that it may take.
        objective
            What its values are; None for the makespan.
        """
        self._work, self._time, self._limit = one_line(work), time, limit
        self._objective = objective
        self._begun = monotonic()
        self._incumbent: float | None = None
        self._bound: float | None = None
        self._compiling = self._far = ""

    def compile(self, function: str) -> None:
        """Say which function is being compiled."""
        self._compiling = function

    def far(self, _title: str, how_far: Progress) -> None:
        """Take how far a simulation is."""
        done, jobs, slot = how_far
        self._far = f"slot {slot:,}, {done:,} of {jobs:,} jobs complete"
        self._compiling = ""

    def report(self, incumbent: float | None, bound: float | None) -> None:
        """Take the best values so far."""
        self._incumbent, self._bound = incumbent, bound
        self._compiling = ""

    def line(self, width: int) -> str:
        """As much as has room."""
        parts = self._parts()
        while (line := "  ".join(filter(None, parts.values()))) and len(line) > width:
            if not (less := next((name for name in _LEAVE_FIRST if parts.get(name)), "")):
                break
            by_clock = less == "value" and " (" in parts[less]
            parts[less] = parts[less].partition(" (")[0] if by_clock else ""
        return line

    def _parts(self) -> dict[str, str]:
        parts = {"work": self._work, "compiling": self._compiling, "far": self._far}
        incumbent, bound = self._incumbent, self._bound
        if incumbent is not None:
            from rarmodel.model.objectives import MAKESPAN  # noqa: PLC0415 - loads slowly

            aim = self._objective or MAKESPAN.name
            told = ""
            if self._time is not None and aim == MAKESPAN.name:
                told = f" ({duration(self._time.seconds(incumbent))})"
            parts["value"] = f"{aim} {_digits(incumbent)}{told}"
        if bound is not None:
            parts["bound"] = f"bound {_digits(bound)}"
        if incumbent and bound is not None:
            from rarmodel.bounds import relative_gap  # noqa: PLC0415

            parts["gap"] = f"gap {relative_gap(incumbent, bound):.1%}"
        if (passed := int(monotonic() - self._begun)) > 0:
            # This line counts the compilation of functions too, which a limit leaves out.
            within = self._limit is not None and passed <= self._limit
            limit = f" of {duration(self._limit)}" if self._limit and within else ""
            parts["passed"] = f"{duration(passed)}{limit}"
        return parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The line anew, each time that it is drawn."""
        from rich.text import Text  # noqa: PLC0415

        yield Text(self.line(options.max_width), no_wrap=True, overflow="ellipsis")


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


_LEAVE_FIRST = ("bound", "gap", "compiling", "far", "value", "passed")


@contextmanager
def progress() -> Iterator[tuple[Doing, Callable[[float | None, float | None], None] | None]]:
    """Show a live line on stderr if it is a terminal; yield the line, and what takes its values."""
    require_stdout()
    doing = Doing()
    if sys.stderr is None or not sys.stderr.isatty():
        yield doing, None
        return
    from rich.console import Console  # noqa: PLC0415

    with Console(stderr=True).status(doing), compilation_shown(doing.compile):
        yield doing, doing.report


@contextmanager
def forecast() -> Iterator[Callable[[str, Progress], None] | None]:
    """Show on stderr how far a simulation is, and a guess how long it still takes."""
    require_stdout()
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    begun: dict[str, float] = {}
    with Console(stderr=True).status("working …") as status:

        def report(policy: str, how_far: Progress) -> None:
            now = perf_counter()
            passed = now - begun.setdefault(policy, now)
            done, jobs, slot = how_far
            parts = [one_line(policy), f"slot {slot:,}", f"{done:,} of {jobs:,} jobs complete"]
            if done and passed > 1:
                parts.append(f"about {duration(passed * (jobs - done) / done)} left")
                parts.append(f"{duration(int(passed))} so far")
            status.update(Text("  ".join(parts)))

        yield report
