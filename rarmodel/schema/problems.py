"""Turn Pydantic's errors into ours: one line each, with place, problem and remedy."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from rarmodel.errors import InputError, Problem

from .base import LEAST_POSITIVE, MAX_NUMBER, ONE, SEVERAL, Record

if TYPE_CHECKING:
    from pydantic_core import InitErrorDetails

SIMILAR = 0.75
"""How much an unknown field resembles the one that was meant, at least: of 1."""

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "a text",
    "tuple_type": "a list",
    "dict_type": "an object",
    "bool_type": "true or false",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_KEYED = {"gpus", "times", "resources", "resources_per_gpu", SEVERAL}
"""Fields that are objects with keys of the user's."""
_STAND_IN = {
    "global_batch_size": {"batch_size"},
    "times": {"forward_ms_per_sample", "backward_ms"},
}
"""Fields that others are not missing beside."""
_JSON_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}


def problems_of(error: ValidationError) -> tuple[Problem, ...]:
    """All problems of a validation, in the input's order.

    A misspelt field is one problem, not two: if an unknown field resembles a missing field of the
    same object, the line names both.
    """
    details = error.errors(include_url=False)
    record = next((one for one in _records(Record) if one.__name__ == error.title), None)
    missing: dict[tuple[int | str, ...], set[str]] = {}
    for detail in details:
        if detail["type"] == "missing":
            missing.setdefault(detail["loc"][:-1], set()).add(str(detail["loc"][-1]))
    meant: dict[tuple[int | str, ...], str] = {}
    for detail in details:
        if detail["type"] == "extra_forbidden":
            candidates = missing.get(detail["loc"][:-1], set())
            if stood_in := _STAND_IN.get(_close(record, detail["loc"]) or ""):
                candidates -= stood_in
            elif close := difflib.get_close_matches(str(detail["loc"][-1]), candidates, n=1):
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
        elif detail["type"] == "extra_forbidden" and (other := _close(record, loc)):
            problems.append(Problem(place_of(loc), f"unknown field; was {other!r} meant?"))
        else:
            problems.extend(_problems_of_detail(detail, place_of(loc)))
    return tuple(problems)


def with_problems(
    error: ValidationError, problems: Sequence[Problem], value: object
) -> ValidationError:
    """The same error with more problems of the same value."""
    if not problems:
        return error
    lines = _lines(error)
    lines.append({"type": "value_error", "input": value, "ctx": {"error": InputError(problems)}})
    return ValidationError.from_exception_data(error.title, lines)


def with_faults_of(field: str, error: ValidationError, other: ValidationError) -> ValidationError:
    """An error of a record in which a field was mended, and beside it the faults of that field."""
    faults = [line for line in _lines(error) if line["loc"][:1] == (field,)]
    return ValidationError.from_exception_data(error.title, [*faults, *_lines(other)])


def _lines(error: ValidationError) -> list[InitErrorDetails]:
    return [
        {
            "type": detail["type"],
            "loc": detail["loc"],
            "input": detail["input"],
            "ctx": detail.get("ctx", {}),
        }
        for detail in error.errors(include_url=False)
    ]


def _records(base: type[Record]) -> Iterator[type[Record]]:
    for one in base.__subclasses__():
        yield one
        yield from _records(one)


def _close(record: type[Record] | None, loc: Sequence[int | str]) -> str | None:
    """The field that an unknown one resembles, among those of its object."""
    choices: list[type[BaseModel]] = [record] if record else []
    for part in loc[:-1]:
        within = [
            choice
            for one in choices
            for name, field in one.model_fields.items()
            if part in {name, field.alias}
            for choice in _models_in(field.annotation)
        ]
        choices = within or choices  # Indices and keys are no level of their own.
    fields = {f.alias or name for one in choices for name, f in one.model_fields.items()}
    close = difflib.get_close_matches(str(loc[-1]), fields - {loc[-1]}, n=1, cutoff=SIMILAR)
    return close[0] if close else None


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def place_of(loc: Sequence[int | str]) -> str:
    """A location as a path: `("jobs", 3, "gpus")` becomes `jobs[3].gpus`.

    Keys that are not plain words are quoted: `assignments[0].gpus["node-1"]`.
    """
    place = ""
    for i, part in enumerate(loc):
        # Pydantic names the chosen kind of a network, one of several shapes of a value, and that a
        # key is meant; the input has no such levels.
        if (
            part in {ONE, SEVERAL}
            or (part in {"star", "tree"} and loc[i - 1 : i] == ("network",))
            or (part == "[key]" and loc[i - 2 : i - 1] and loc[i - 2] in _KEYED)
        ):
            continue
        if isinstance(part, int):
            place += f"[{part}]"
        elif part.isidentifier():
            place += f".{part}" if place else part
        else:
            place += f"[{json.dumps(_shortened(part), ensure_ascii=False)}]"
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
            yield Problem(f"{place}.kind", f"{show(_tag(value))}; 'star' or 'tree' is expected")
        case "literal_error" | "int_parsing_size":  # The latter only where a version is too long.
            yield Problem(place, f"{show(value)}; {context.get('expected', 1)} is expected")
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            relation = {
                "greater_than": "above",
                "greater_than_equal": "at least",
                "less_than": "below",
                "less_than_equal": "at most",
            }[kind]
            (limit,) = context.values()
            if limit == LEAST_POSITIVE and value <= 0:
                relation, limit = "above", 0
            shown = f"{limit:g}" if isinstance(limit, float) else limit
            yield Problem(place, f"{show(value)}; it must be {relation} {shown}")
        case "finite_number":
            yield Problem(place, f"{show(value)}; a finite number is expected")
        case "string_too_short":
            yield Problem(place, "an empty text; it must not be empty")
        case "string_unicode":
            yield Problem(place, f"{show(value)}; half of a surrogate pair is not text")
        case "too_short":
            if not value:  # Pydantic does not count entries that it refused.
                kind = show(value).removeprefix("a").removeprefix("n").strip()
                yield Problem(place, f"an empty {kind}; at least one entry is expected")
        case "float_type" if isinstance(value, int) and not isinstance(value, bool):
            yield Problem(place, f"{show(value)}; it must be within ±{MAX_NUMBER:g}")
        case _ if kind in _EXPECTED:
            yield Problem(place, f"{show(value)}; {_EXPECTED[kind]} is expected")
        case _:
            yield Problem(place, f"{show(value)}; {detail['msg'][:1].lower()}{detail['msg'][1:]}")


def show(value: object) -> str:
    """A value of an input in a few characters, as JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return repr(_shortened(value))
    if isinstance(value, bool | float):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a whole number of more than 20 digits"
    return _JSON_NAMES.get(type(value), repr(value))


def _tag(network: object) -> object:
    return network["kind"] if isinstance(network, Mapping) else getattr(network, "kind", None)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"
