"""Trace files as rows of text: plain or gzipped, any common delimiter."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from rarmodel.errors import InputError, Problem
from rarmodel.files import read_bytes

Row = list[str]

_GZIP = b"\x1f\x8b"
_DELIMITERS = ",\t|;"


@dataclass(frozen=True)
class Table:
    """Rows of a text file.

    Attributes
    ----------
    source
        Name of the file.
    first
        The first row; column names, if the format has any.
    rows
        Line number and cells of each row, the first included; blank lines are left out.
    """

    source: str
    first: Row
    rows: tuple[tuple[int, Row], ...]


def read_table(source: str, expected: str = "a trace with a line for each job") -> Table:
    """Read a file, or standard input if `source` is `-`; an empty one is told what is expected.

    Raises
    ------
    InputError
        If it cannot be read, is empty, is a damaged gzip file, or is no UTF-8 text.
    """
    name, raw = read_bytes(source)
    text = decoded(_unzipped(raw, name), name)
    if not text.strip():
        raise InputError([Problem("", f"empty; {expected} is expected")], name)
    first = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    try:
        rows = tuple(_rows(text, delimiter))
    except csv.Error as error:
        raise InputError([Problem("", f"not a table: {error}")], name) from error
    if not rows:
        raise InputError([Problem("", f"nothing but delimiters; {expected} is expected")], name)
    return Table(name, rows[0][1], rows)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, Row]]:
    # Only files with commas or semicolons quote cells; sacct and Gavel write what they have.
    lines = io.StringIO(text, newline="")
    if delimiter in ",;":
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    else:
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: {error}") from error


def _unzipped(raw: bytes, name: str) -> bytes:
    if not raw.startswith(_GZIP):
        return raw
    stream = gzip.GzipFile(fileobj=io.BytesIO(raw))
    whole = bytearray()
    try:
        while chunk := stream.read(1 << 20):
            whole += chunk
    except EOFError as error:
        message = f"the gzip file is cut short after line {whole.count(10)}; copy it again"
        raise InputError([Problem("", message)], name) from error
    except (OSError, zlib.error) as error:
        message = f"a damaged gzip file ({error}); copy it again"
        raise InputError([Problem("", message)], name) from error
    return bytes(whole)


def decoded(raw: bytes, name: str) -> str:
    """UTF-8 text.

    Raises
    ------
    InputError
        If it is none, or has a byte 0, with the line where it ceases to be.
    """
    if raw[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        raise InputError([Problem("", "UTF-16 text; UTF-8 is expected")], name)
    if (at := raw.find(0)) >= 0:
        line = raw.count(b"\n", 0, at) + 1
        message = "a byte 0: no text, or text in UTF-16; UTF-8, plain or gzipped, is expected"
        raise InputError([Problem(f"line {line}", message)], name)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8; the whole file in UTF-8 is expected"
        raise InputError([Problem(f"line {line}", message)], name) from error
