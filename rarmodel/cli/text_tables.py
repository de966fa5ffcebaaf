"""Tables of text that fit a width without breaking a word or a number.

Where a table is too wide, headers and columns of prose go on over several lines, between words.
Where it still is, columns leave by their priority; a line below the table names them. Where even
the columns that never leave are too wide, each row becomes a block of lines, which has all columns.
Only a single word that is longer than the whole width goes beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rarmodel.errors import one_line
from rarmodel.tabular import NONE

GAP, NARROW_GAP = 3, 2
"""Spaces between two columns, where there is room and where there is not."""
PROSE = 32
"""Characters of prose that a line has at least, so that it can be read."""
STATUS = {
    "optimal": "green",
    "feasible": "yellow",
    "infeasible": "bold red",
    "unknown": "bold red",
    "skipped": "dim",
}
VERDICT = {"yes": "green", "no": "bold red", "unknown": "yellow"}
COLOURS: Mapping[str, Mapping[str, str]] = {
    "status": STATUS,
    "verified": VERDICT,
    "feasible": VERDICT,
    "holds": VERDICT,
    "reproduced": VERDICT,
}
"""Colours of words, by the column or the line that they stand in."""


class Piece(NamedTuple):
    """Text of one style."""

    text: str
    style: str = ""


Line = list[Piece]


class Column(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    header
        Its name.
    side
        Where its cells are aligned.
    leaves
        0 if it is always shown; of the others, the greatest leaves first.
    prose
        Whether its cells may go on over several lines.
    said_once
        Makes the words that stand below the table in place of the column, if its cells are `yes`
        or empty, from the number of cells that are `yes`.
    """

    header: str
    side: Literal["left", "right"] = "left"
    leaves: int = 0
    prose: bool = False
    said_once: Callable[[int], str] | None = None


def words(header: str, leaves: int = 0, *, said_once: Callable[[int], str] | None = None) -> Column:
    """A column of names or words that stay on one line."""
    return Column(header, "left", leaves, said_once=said_once)


def numbers(header: str, leaves: int = 0) -> Column:
    """A column of numbers."""
    return Column(header, "right", leaves)


def prose(header: str, leaves: int = 0) -> Column:
    """A column of text that may go on over several lines."""
    return Column(header, "left", leaves, prose=True)


@dataclass
class TextTable:
    """A table of text, row by row."""

    title: str | None
    columns: Sequence[Column]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """Add a row."""
        self.rows.append([one_line(cell) for cell in cells])

    def lines(self, width: int | None = None) -> list[Line]:
        """The lines of the table within a width; without one, each row is one line."""
        title = [] if self.title is None else [[Piece(one_line(self.title), "italic")], []]
        columns = [
            _Cells(column, [row[i] for row in self.rows]) for i, column in enumerate(self.columns)
        ]
        if width is None:
            return [*title, *_grid(columns, [one.natural for one in columns], GAP)]
        said = [one for one in columns if one.is_said_once]
        shown = [one for one in columns if one not in said]
        notes = [one.said for one in said]
        return [*title, *_fitted(shown, notes, width)]


class _Cells:
    """A column with its cells, and the widths that it can have."""

    def __init__(self, column: Column, cells: Sequence[str]) -> None:
        self.column, self.cells = column, cells
        self.natural = max(map(width_of, [column.header, *cells]))
        longest = max((width_of(word) for word in _all_words([column.header])), default=0)
        if column.prose:
            in_cells = max((width_of(word) for word in _all_words(cells)), default=0)
            longest = max(longest, in_cells, min(PROSE, self.natural))
        self.least = longest if column.prose else max(longest, *map(width_of, cells), 0)

    @property
    def is_said_once(self) -> bool:
        """Whether some words below the table can stand for all cells."""
        return bool(self.said) and {"yes"} <= set(self.cells) <= {"yes", NONE}

    @property
    def said(self) -> str:
        """These words; empty if there are none."""
        made = self.column.said_once
        return "" if made is None else made(self.cells.count("yes"))


def _fitted(columns: list[_Cells], notes: list[str], width: int) -> list[Line]:
    """A grid within the width, or blocks, with notes below."""
    natural = [one.natural for one in columns]
    if _total(natural, GAP) <= width:
        return [*_grid(columns, natural, GAP), *_notes(notes, width)]
    kept = list(columns)
    while (slack := width - _total([one.least for one in kept], NARROW_GAP)) < 0:
        last = max(kept, key=lambda one: one.column.leaves)
        if last.column.leaves == 0:
            return [*_blocks(columns, width), *_notes(notes, width)]
        kept.remove(last)
    if left_out := [one.column.header for one in columns if one not in kept]:
        notes = [*notes, f"no room for: {', '.join(left_out)}"]
    return [*_grid(kept, _grown(kept, slack), NARROW_GAP), *_notes(notes, width)]


def _total(widths: Sequence[int], gap: int) -> int:
    return 1 + sum(widths) + gap * (len(widths) - 1)


def _grown(columns: Sequence[_Cells], slack: int) -> list[int]:
    """Widths with the slack shared out: to prose first, then to headers."""
    widths = [one.least for one in columns]
    for is_prose in (True, False):
        of_kind = [i for i, one in enumerate(columns) if one.column.prose is is_prose]
        while slack and (needy := [i for i in of_kind if widths[i] < columns[i].natural]):
            share = max(1, slack // len(needy))
            for i in needy:
                more = min(share, columns[i].natural - widths[i], slack)
                widths[i] += more
                slack -= more
    return widths


def _grid(columns: Sequence[_Cells], widths: Sequence[int], gap: int) -> list[Line]:
    """Header, rule and rows."""
    ruled = sum(widths) + gap * (len(widths) - 1)
    names = [one.column.header for one in columns]
    head = _row(columns, names, widths, gap, styles=["bold"] * len(names), to_bottom=True)
    lines = [*head, [Piece(" " + "─" * ruled)]]
    for cells in zip(*(one.cells for one in columns), strict=True):
        styles = [
            COLOURS.get(name, {}).get(cell, "") for name, cell in zip(names, cells, strict=True)
        ]
        lines += _row(columns, cells, widths, gap, styles)
    return lines


def _row(
    columns: Sequence[_Cells],
    cells: Sequence[str],
    widths: Sequence[int],
    gap: int,
    styles: Sequence[str],
    *,
    to_bottom: bool = False,
) -> Iterator[Line]:
    """The lines of one row."""
    parts = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, parts), default=0)
    if to_bottom:
        parts = [[""] * (height - len(part)) + part for part in parts]
    for i in range(height):
        line = [Piece(" ")]
        for j, (one, part, width) in enumerate(zip(columns, parts, widths, strict=True)):
            text = part[i] if i < len(part) else ""
            fill = " " * (width - width_of(text))
            before, after = (fill, "") if one.column.side == "right" else ("", fill)
            line += [Piece(" " * gap * (j > 0) + before), Piece(text, styles[j]), Piece(after)]
        yield line


def _blocks(columns: Sequence[_Cells], width: int) -> list[Line]:
    """Each row as a block of names and values."""
    names = [one.column.header for one in columns]
    lines: list[Line] = []
    for cells in zip(*(one.cells for one in columns), strict=True):
        lines += [[], *named_lines(dict(zip(names, cells, strict=True)), width)]
    return lines[1:]


def named_lines(lines: Mapping[str, str], width: int | None = None) -> list[Line]:
    """Names with their values, which begin in one column and go on below it.

    A value with a word that has no room beside its name begins below the name.
    """
    told = {one_line(name): one_line(value) for name, value in lines.items()}
    margin = 2 + max(map(width_of, told), default=0)
    found: list[Line] = []
    for name, value in told.items():
        indent, head = margin, name + " " * (margin - width_of(name))
        parts = [value] if width is None else wrapped(value, width - margin)
        if width is not None and max(map(width_of, parts)) > width - margin:
            found.append([Piece(name)])
            indent, head = NARROW_GAP, " " * NARROW_GAP
            parts = wrapped(value, width - NARROW_GAP)
        found.append([Piece(head), *_coloured(name, parts[0])])
        found += [[Piece(" " * indent + part)] for part in parts[1:]]
    return found


def _coloured(name: str, text: str) -> Line:
    """The first word of a value in its colour."""
    first, space, rest = text.partition(" ")
    return [Piece(first, COLOURS.get(name, {}).get(first, "")), Piece(space + rest)]


def _notes(notes: Iterable[str], width: int) -> Iterator[Line]:
    for note in notes:
        yield from ([Piece(" " + part, "dim")] for part in wrapped(note, width - 1))


def wrapped(text: str, width: int) -> list[str]:
    """Text as lines of whole words within a width; a word that is longer has its own line."""
    if width_of(text) <= width:
        return [text]
    lines, line = list[str](), ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and width_of(longer) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]


def plain(line: Line) -> str:
    """A line without styles, and without spaces at its end."""
    return "".join(piece.text for piece in line).rstrip()


def width_of(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - few need it

    return cell_len(text)


def _all_words(texts: Iterable[str]) -> Iterator[str]:
    return (word for text in texts for word in text.split(" "))
