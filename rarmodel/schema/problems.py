"""From Pydantic's account of a refused input to ours: one line each, place, wrong, right."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError  # noqa: TC002

from rarmodel.errors import InputError, Problem

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "a text",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_JSON_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}


def problems_of(error: ValidationError) -> tuple[Problem, ...]:
    """All problems that a validation found, in the input's order.

    A misspelt field is one problem, not two: if an unknown field resembles a missing one of the
    same object, the line names both.
    """
    details = error.errors(include_url=False)
    missing: dict[tuple[int | str, ...], set[str]] = {}
    for detail in details:
        if detail["type"] == "missing":
            missing.setdefault(detail["loc"][:-1], set()).add(str(detail["loc"][-1]))
    meant: dict[tuple[int | str, ...], str] = {}
    for detail in details:
        if detail["type"] == "extra_forbidden":
            candidates = missing.get(detail["loc"][:-1], set())
            if close := difflib.get_close_matches(str(detail["loc"][-1]), candidates, n=1):
                meant[detail["loc"]] = close[0]
                candidates.discard(close[0])
    problems: list[Problem] = []
    for detail in details:
        loc = detail["loc"]
        if detail["type"] == "missing" and str(loc[-1]) not in missing[loc[:-1]]:
            continue
        if detail["type"] == "extra_forbidden" and loc in meant:
            message = f"unknown field; {meant[loc]!r} is missing here, was it meant?"
            problems.append(Problem(place_of(loc), message))
        else:
            problems.extend(_problems_of_detail(detail, place_of(loc)))
    return tuple(problems)


def place_of(loc: Sequence[int | str]) -> str:
    """A location as a path: `("jobs", 3, "gpus")` becomes `jobs[3].gpus`."""
    place = ""
    for i, part in enumerate(loc):
        if i > 0 and loc[i - 1] == "network" and part in {"star", "tree"}:
            continue  # Pydantic names the chosen kind of a network; the input has no such level.
        if isinstance(part, int):
            place += f"[{part}]"
        else:
            place += f".{part}" if place else part
    return place


def _problems_of_detail(detail: Any, place: str) -> Iterator[Problem]:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    match kind:
        case "value_error" if isinstance(context.get("error"), InputError):
            for problem in context["error"].problems:
                separator = "." if place and problem.place and problem.place[0] != "[" else ""
                yield Problem(f"{place}{separator}{problem.place}", problem.message)
        case "missing":
            yield Problem(place, "missing; this field is required")
        case "extra_forbidden":
            yield Problem(place, "unknown field; remove it or correct its name")
        case "union_tag_not_found":
            yield Problem(f"{place}.kind", "missing; 'star' or 'tree' is expected")
        case "union_tag_invalid":
            yield Problem(f"{place}.kind", f"{show(context['tag'])}; 'star' or 'tree' is expected")
        case "literal_error":
            yield Problem(place, f"{show(value)}; {context['expected']} is expected")
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            relation = {
                "greater_than": "above",
                "greater_than_equal": "at least",
                "less_than": "below",
                "less_than_equal": "at most",
            }[kind]
            (limit,) = context.values()
            yield Problem(place, f"{show(value)}; it must be {relation} {limit}")
        case "finite_number":
            yield Problem(place, f"{show(value)}; a finite number is expected")
        case "string_too_short":
            yield Problem(place, "an empty text; it must not be empty")
        case "too_short":
            yield Problem(place, "an empty list; at least one entry is expected")
        case _ if kind in _EXPECTED:
            yield Problem(place, f"{show(value)}; {_EXPECTED[kind]} is expected")
        case _:
            yield Problem(place, f"{show(value)}; {detail['msg'][:1].lower()}{detail['msg'][1:]}")


def show(value: object) -> str:
    """A value of an input as a few characters, as JSON would write it."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "…")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a whole number of more than 20 digits"
    return _JSON_NAMES.get(type(value), repr(value))
