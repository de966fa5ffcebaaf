"""Read trace files as rows of text: plain or gzipped, with any common delimiter or fixed widths."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import BinaryIO

from rarmodel.defaults import MAX_MB
from rarmodel.errors import InputError, Problem
from rarmodel.files import CHUNK, open_input, too_large

Row = list[str]

_GZIP = b"\x1f\x8b"
_DELIMITERS = ",\t|;"
_LINE = 1000
"""Bytes that tell whether a file is JSON."""
_RULE = re.compile(r"-+(?: +-+)+\s*")
"""The line below the names of columns of fixed widths, as `sacct` prints them."""
_REMARK = ";"
_SAID = re.compile(r";\s*([A-Za-z]+)\s*:\s*(.*\S)")
"""A remark that says something by name."""
_SPACED = 18
"""Cells of a row of the Standard Workload Format, which has spaces between them."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?")
_BOM = "\ufeff"
_LONGEST = 16 * CHUNK
"""Most bytes of a line: a file with longer lines is not a table, and would exhaust the memory."""

LARGER = "; --max-size lets rarmodel read more"
"""Advice to the user about a larger file."""


@dataclass(frozen=True)
class Table:
    """The rows of an open text file.

    Attributes
    ----------
    source
        Name of the file.
    line
        Line number of the first row.
    first
        The first row: the column names, if the format has them.
    rows
        Line number and cells of each further row, as a one-time iterator; blank lines are left out.
    remarks
        What the remarks before the first row say: `; Name: value`, in the Standard Workload Format.
    """

    source: str
    line: int
    first: Row
    rows: Iterator[tuple[int, Row]]
    remarks: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def open_table(
    source: str,
    expected: str = "a trace with a line for each job",
    max_mb: float = MAX_MB,
) -> Iterator[Table]:
    """Read a table; errors for an empty file say what to give.

    The file is read twice, and never held whole in memory: once to check its encoding and size, and
    once row by row.

    Raises
    ------
    InputError
        As of `open_text`, or if the file is empty.
    """
    with open_text(source, max_mb) as text:
        yield table_of(text, expected)


@dataclass(frozen=True)
class Text:
    """An open text file.

    Attributes
    ----------
    source
        Name of the file.
    stream
        Its text, from the beginning.
    is_json
        Whether it begins as JSON does.
    """

    source: str
    stream: io.TextIOWrapper
    is_json: bool


@contextmanager
def open_text(source: str, max_mb: float = MAX_MB) -> Iterator[Text]:
    """Read a file, or standard input if `source` is `-`.

    Raises
    ------
    InputError
        If the file cannot be read, is a damaged gzip file, is not UTF-8 text, or has more than
        `max_mb` MB unzipped.
    """
    with open_input(source, max_mb, LARGER) as (name, stream):
        zipped = stream.read(len(_GZIP)) == _GZIP
        stream.seek(0)
        content: BinaryIO = gzip.GzipFile(fileobj=stream) if zipped else stream  # type: ignore[assignment]
        _check(_chunks(content, name, max_mb), name)
        content.seek(0)
        with io.TextIOWrapper(content, "utf-8-sig", newline="") as text:
            try:
                is_json = _begins_as_json(text.read(_LINE))
                text.seek(0)
                yield Text(name, text, is_json)
            except (UnicodeDecodeError, EOFError, zlib.error) as error:
                message = "it changed while rarmodel read it; run the same command again"
                raise InputError([Problem("", message)], name) from error


def _begins_as_json(text: str) -> bool:
    return text.removeprefix(_BOM).lstrip().startswith(("{", "["))


def table_of(text: Text, expected: str) -> Table:
    """The table in a text.

    Raises
    ------
    InputError
        If it is empty; the error says what is expected.
    """
    lines = (line for line in text.stream if line.strip())
    first, second = next(lines, ""), next(lines, "")
    if not first:
        raise InputError([Problem("", f"empty; {expected} is expected")], text.source)
    remarks, row = dict[str, str](), ""
    for row in chain([first, second], lines):
        if not row.startswith(_REMARK):
            break
        if said := _SAID.match(row):
            remarks[said[1]] = said[2]
    text.stream.seek(0)
    if is_spaced := _is_spaced(row):
        rows = _spaced(text.stream)
    elif _RULE.fullmatch(second):
        rows = _fixed(text.stream, second, text.source)
    else:
        rows = _rows(text.stream, max(_DELIMITERS, key=first.count), text.source)
    line, names = next(rows, (0, []))
    if not line:
        message = f"nothing but delimiters; {expected} is expected"
        raise InputError([Problem("", message)], text.source)
    return Table(text.source, line, names, rows, remarks if is_spaced else {})


def _is_spaced(line: str) -> bool:
    """Whether a line is a row of the Standard Workload Format."""
    cells = line.split()
    return len(cells) == _SPACED and all(map(_NUMBER.fullmatch, cells))


def _spaced(text: Iterable[str]) -> Iterator[tuple[int, Row]]:
    """Rows of cells separated by spaces, between lines of remarks."""
    for number, line in enumerate(text, start=1):
        if line.strip() and not line.lstrip().startswith(_REMARK):
            yield number, line.split()


def _fixed(text: Iterable[str], rule: str, name: str) -> Iterator[tuple[int, Row]]:
    """Rows of fixed widths: those of the dashes in the rule, but for the last, which may be longer.

    Raises
    ------
    InputError
        If a row has text between its cells.
    """
    spans = [found.span() for found in re.finditer("-+", rule)]
    ends: list[int | None] = [*(end for _, end in spans[:-1]), None]
    cells = [slice(start, end) for (start, _), end in zip(spans, ends, strict=True)]
    gaps = [slice(end, start) for (_, end), (start, _) in pairwise(spans)]
    for number, line in enumerate(text, start=1):
        if not line.strip() or _RULE.fullmatch(line):
            continue
        if line[: spans[0][0]].strip() or any(line[gap].strip() for gap in gaps):
            message = "cells that are not below their names; sacct --parsable2 separates them"
            raise InputError([Problem(f"line {number}", message)], name)
        yield number, [line[cell].strip() for cell in cells]


def _rows(text: Iterable[str], delimiter: str, name: str) -> Iterator[tuple[int, Row]]:
    # Only files with commas or semicolons quote cells; sacct and Gavel write what they have.
    if delimiter in ",;":
        reader = csv.reader(text, delimiter=delimiter, strict=True)
    else:
        reader = csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        message = f"not a table: line {reader.line_num}: {error}"
        raise InputError([Problem("", message)], name) from error


def _chunks(content: BinaryIO, name: str, max_mb: float) -> Iterator[bytes]:
    """All of a stream, up to this many MB, and of lines that are not too long but in JSON."""
    size = line = length = 0
    is_json = False
    try:
        while chunk := content.read(CHUNK):
            if not size:
                is_json = _begins_as_json(chunk[:_LINE].decode("utf-8", "replace"))
            size += len(chunk)
            if size > max_mb * 1e6:
                raise too_large(max_mb, name, LARGER)
            yield chunk
            line += chunk.count(b"\n")
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
            length = len(chunk) - end + (0 if end else length)
            if not is_json and length > _LONGEST:
                message = f"more than {_LONGEST:,} bytes; lines of cells are expected"
                raise InputError([Problem(f"line {line + 1}", message)], name)
    except EOFError as error:
        message = f"the gzip file is cut short after line {line}; copy it again"
        raise InputError([Problem("", message)], name) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        message = f"a damaged gzip file ({error}); copy it again"
        raise InputError([Problem("", message)], name) from error


def decoded(raw: bytes, name: str) -> str:
    """Decode UTF-8 text.

    Raises
    ------
    InputError
        If the bytes are not UTF-8 text or contain a byte 0; with the line.
    """
    _check([raw], name)
    return raw.decode("utf-8-sig")


def _check(chunks: Iterable[bytes], name: str) -> None:
    """Check that bytes are UTF-8 text; errors as in `decoded`."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines = 0
    for i, chunk in enumerate(chunks):
        if i == 0 and chunk[:2] in {b"\xff\xfe", b"\xfe\xff"}:
            raise InputError([Problem("", "UTF-16 text; UTF-8 is expected")], name)
        if (at := chunk.find(0)) >= 0:
            line = lines + chunk.count(b"\n", 0, at) + 1
            message = "a byte 0: no text, or text in UTF-16; UTF-8, plain or gzipped, is expected"
            raise InputError([Problem(f"line {line}", message)], name)
        _decode(decoder, chunk, lines, name)
        lines += chunk.count(b"\n")
    _decode(decoder, b"", lines, name)


def _decode(decoder: codecs.IncrementalDecoder, chunk: bytes, lines: int, name: str) -> None:
    """Decode a chunk that follows `lines` lines; the last chunk is empty."""
    try:
        decoder.decode(chunk, final=not chunk)
    except UnicodeDecodeError as error:
        line = lines + error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        message = f"byte 0x{byte:02x} is not UTF-8; the whole file in UTF-8 is expected"
        raise InputError([Problem(f"line {line}", message)], name) from error
