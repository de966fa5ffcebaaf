"""Files that commands write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import rich_click as click

from rarmodel.errors import UsageError, one_line

from .options import SEVERAL
from .terminal import answer, answer_text, say


class Shown(Protocol):
    """What is shown as a table of text, also in LaTeX."""

    def table(self) -> list[dict[str, str]]:
        """Rows of formatted values."""
        ...

    def to_latex(self) -> str:
        """The same in LaTeX."""
        ...


PAGE = click.option(
    "--output",
    metavar="FILE",
    required=True,
    help="Write the page to this HTML file; - for stdout.",
)
SIMULATIONS = click.option(
    "--simulations",
    is_flag=True,
    help="Compare what schedules are like for arriving jobs: flow times, queue, GPUs held and "
    "contention over time, fairness, by job size and by tenant.",
)

SOLVE_PARTS = click.option(
    "--part",
    "solve_parts",
    multiple=True,
    metavar="NAME",
    help="Draw this part: profile or time-profile (performance profiles), gap or own-gap (gaps "
    f"over time). By default all that say something. {SEVERAL}",
)


def check_output(output: str | None, *, as_json: bool = False) -> None:
    """Before any work, refuse an output that cannot be written, or two answers on stdout."""
    from rarmodel import files  # noqa: PLC0415 - loads slowly

    if output == "-" and as_json:
        raise UsageError("--output - and --json both write to stdout; choose one")
    if output not in {None, "-"}:
        files.check_writable(output)


def check_rows(output: str | None, *, as_json: bool) -> None:
    """The same of a CSV file."""
    from rarmodel.table_files import check_table  # noqa: PLC0415

    if output == "-" and as_json:
        raise UsageError("--csv - and --json both write to stdout; choose one")
    if output not in {None, "-"}:
        check_table(output, [".csv"])
        check_output(output)


MEGABYTE = 1_000_000
"""From so many bytes on, sizes are told in MB."""
TABLES = (".tex", ".csv")
"""Endings of tables as they are shown."""


def check_shown(output: str | None) -> None:
    """Before any work, refuse a file for a table as it is shown."""
    from rarmodel.table_files import check_table  # noqa: PLC0415

    if output is not None:
        check_table(output, TABLES)
        check_output(output)


def write_shown(table: Shown, output: str) -> None:
    """Write a table as it is shown: in LaTeX or as CSV, as the name of the file says."""
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.table_files import check_table, table_bytes  # noqa: PLC0415

    if check_table(output, TABLES) == ".tex":
        files.write_bytes(output, table.to_latex().encode("utf-8", "backslashreplace"))
    else:
        files.write_bytes(output, table_bytes(table.table(), ".csv"))


def write_rows(rows: Sequence[Mapping[str, Any]], output: str) -> None:
    """Write rows as CSV to a file, whole or not at all, or to stdout if the name is `-`."""
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.table_files import table_bytes  # noqa: PLC0415

    content = table_bytes(rows, ".csv")
    if output == "-":
        answer_text(content.decode().rstrip("\n"))
    else:
        files.write_bytes(output, content)


def write_json(text: str, output: str, kind: str) -> None:
    """Write JSON to a file, whole or not at all, or to stdout if the name is `-`.

    The kind is what a terminal is told that the file has, such as `schedule`.
    """
    from rarmodel import files  # noqa: PLC0415

    if output == "-":
        answer_text(text.rstrip("\n"))
    else:
        files.write_text(output, text)
        say_written(output, kind, len(text.encode()))


def picture_form(output: str) -> str:
    """The format of a picture, by the ending of its name, before any work.

    Raises
    ------
    UsageError
        If there is no such format, or Altair or vl-convert is not installed.
    InputError
        If the file cannot be written.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.drawing import form_of  # noqa: PLC0415 - an extra

    form = form_of(output)
    files.check_writable(output)
    return form


def write_picture(chart: Any, form: str, output: str) -> None:
    """Write a chart as a picture, whole or not at all."""
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.drawing import image_of  # noqa: PLC0415 - an extra

    drawn = image_of(chart, form)
    files.write_bytes(output, drawn)
    say_written(output, picture_kind(form), len(drawn))


def write_page(output: str, make: Callable[[], str]) -> None:
    """Make a page and write it to a file, or to stdout if the name is `-`."""
    from rarmodel import files  # noqa: PLC0415

    if output == "-":
        answer(make())
        return
    files.check_writable(output)
    page = make()
    files.write_text(output, page)
    say_written(output, picture_kind("html"), len(page.encode()))


def say_file(output: str, kind: str) -> None:
    """The same of a file that the program's interface has written."""
    say_written(output, kind, Path(output).stat().st_size)


def on_terminal() -> bool:
    """Whether a person reads stderr."""
    return sys.stderr is not None and sys.stderr.isatty()


def picture_kind(form: str) -> str:
    """What a terminal calls a picture or page of this format."""
    return "HTML page" if form == "html" else f"{form.upper()} picture"


def say_written(output: str, kind: str, size: int) -> None:
    """Say on a terminal which file was written, of which kind, and its size in bytes.

    To programs nothing is said: that the command has done what it was asked for is no news.
    """
    if not on_terminal():
        return
    told = f"{size / 1e6:.1f} MB" if size >= MEGABYTE else f"{max(1, round(size / 1e3)):,} kB"
    say(one_line(f"{output}: {kind}, {told}"))
