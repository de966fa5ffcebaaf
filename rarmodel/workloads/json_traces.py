"""Read traces in JSON: a list of jobs, alone or in an object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rarmodel.errors import InputError, Problem, listed
from rarmodel.json_text import parse_json

from .formats import FORMATS
from .table_cells import CellError
from .trace_format import Format
from .trace_table import Text

Entry = tuple[int, str, Callable[[], dict[str, str]]]
"""Number of a row, its whole text, and a function that gives its cells or raises `CellError`."""


def entries_of(text: Text, named: Format | None) -> tuple[Format, Iterator[Entry]]:
    """The format of a file in JSON, and its entries, counted from 1.

    Parameters
    ----------
    text
        The file.
    named
        The format that the user names; None to recognise it by the fields of the first entry.

    Raises
    ------
    InputError
        If the file is not JSON, or is of no such format.
    """
    known = [form for form in FORMATS.values() if not form.is_table]
    names = ", ".join(form.name for form in known)
    if named is not None and named.is_table:
        message = f"JSON, and format {named.name} is a table; formats of JSON are {names}"
        raise InputError([Problem("", message)], text.source)
    data, problems = parse_json(text.stream.read(), text.source)
    if problems:
        raise InputError(problems, text.source)
    for form in known if named is None else [named]:
        listing = _listing(data, form)
        if listing is not None and (named is not None or _fits(form, listing)):
            return form, _entries(form, listing)
    raise InputError([Problem("", _unknown(data, known, named))], text.source)


def _listing(data: object, form: Format) -> list[object] | None:
    """The list of jobs; None if the file has none where the format has it."""
    found = data
    if form.listing:
        found = data.get(form.listing) if isinstance(data, dict) else None
    return found if isinstance(found, list) else None


def _fits(form: Format, listing: list[object]) -> bool:
    """Whether the first entry has the fields of the format; an empty list has none to check."""
    first = listing[0] if listing else dict.fromkeys(form.columns)
    return isinstance(first, dict) and form.columns <= first.keys()


def _unknown(data: object, known: list[Format], named: Format | None) -> str:
    """Why a file is of no such format."""
    expected = "; ".join(
        f"format {form.name} is {f'a list {form.listing!r}' if form.listing else 'a list'} of "
        f"objects with {', '.join(sorted(form.columns))}"
        for form in (known if named is None else [named])
    )
    shown = data
    while isinstance(shown, list) and shown:
        shown = shown[0]
    has = f"JSON with fields {listed([*shown])}" if isinstance(shown, dict) else "JSON"
    return f"{has}: no known format; {expected}"


def _entries(form: Format, listing: list[object]) -> Iterator[Entry]:
    for number, entry in enumerate(listing, start=1):
        yield number, json.dumps(entry, sort_keys=True), partial(_flat, form, entry)


def _flat(form: Format, entry: object) -> dict[str, str]:
    if not isinstance(entry, dict) or form.flatten is None:
        raise CellError("", "not an object; a job is expected")
    checked: dict[str, Any] = entry
    for name in sorted(form.columns):
        if name not in checked:
            raise CellError(name, "missing; it is expected")
    return form.flatten(checked)
