"""Decode JSON text, and find fields that occur twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from .errors import InputError, Problem
from .schema.problems import place_of


class _Repetitive(dict[str, object]):
    """A JSON object in which some fields occur twice; it has the last value of each."""

    repeated: tuple[str, ...]


def _repeated_fields(data: object) -> Iterator[tuple[int | str, ...]]:
    """Location of every field that occurs twice in its object."""
    unseen: list[tuple[tuple[int | str, ...], object]] = [((), data)]
    while unseen:
        loc, value = unseen.pop()
        if isinstance(value, _Repetitive):
            yield from ((*loc, key) for key in value.repeated)
        if isinstance(value, dict | list):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            unseen.extend(((*loc, key), item) for key, item in reversed(list(items)))


def parse_json(text: str, source: str) -> tuple[object, list[Problem]]:
    """Decode JSON text; return also every field that occurs twice in its object."""
    if not text.strip():
        raise InputError([Problem("", "empty; a JSON object is expected")], source)
    any_repeated = False

    def make_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal any_repeated
        record = dict(pairs)
        if len(record) == len(pairs):
            return record
        any_repeated = True
        times = Counter(key for key, _ in pairs)
        repetitive = _Repetitive(record)
        repetitive.repeated = tuple(key for key in record if times[key] > 1)
        return repetitive

    try:
        data = json.loads(text, object_pairs_hook=make_object)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        raise InputError([Problem("", message)], source) from error
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number too long"
        raise InputError([Problem("", f"not usable JSON: {reason}")], source) from error
    if not any_repeated:
        return data, []
    return data, [
        Problem(place_of(loc), "this field occurs twice in one object; keep one")
        for loc in _repeated_fields(data)
    ]
