"""YAML as JSON is read: the same kinds of values, and each place with its line.

Values follow the core schema of YAML 1.2, in which every JSON text means what it means as JSON: of
plain words only `true`, `false` and `null` are no texts, `012` is 12 and `12:30` a text. PyYAML by
itself follows YAML 1.1, where `on` is a truth value and `12:30` a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from .errors import InputError, Problem, one_line
from .schema.problems import place_of

MOST_LEVELS = 100
"""Levels of nesting that are read."""

MOST_CHARACTERS = 50_000_000
"""Characters of the longest text that is read: what PyYAML makes of one takes some 40 bytes."""

MOST_RETOLD = 1_000_000
"""Characters of a text in which the parser in C does not have the last word on what is wrong."""

Lines = dict[str, int]
"""Line, from 1, of each place in a text."""

_FLOAT = r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
_CORE = {
    "null": (r"null|Null|NULL|~|", "nN~"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (_FLOAT, "-+.0123456789"),
}
"""What a plain word means, by the first that fits, and the characters that it can begin with."""


# The one in C is some ten times as fast, and part of PyYAML's wheels.
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader of the core schema."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's way

    def construct_whole(self, node: yaml.ScalarNode) -> int:
        """A whole number: decimal, or with `0o` or `0x`."""
        text = str(node.value)
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


for _kind, (_words, _first) in _CORE.items():
    _pattern = re.compile(f"(?:{_words})$", re.ASCII)
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", _pattern, list(_first))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("$"), [""])
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_whole)


class Document(NamedTuple):
    """What a text stands for.

    Attributes
    ----------
    data
        Its value.
    problems
        Keys that occur twice or are no text, with their lines.
    root
        Where `lines_of` finds the lines of places.
    """

    data: Any
    problems: list[Problem]
    root: yaml.Node


def parse_yaml(text: str, source: str, expected: str) -> Document:
    """Read YAML text.

    Parameters
    ----------
    text
        The text.
    source
        Where it comes from, for errors.
    expected
        What it should be, for errors.

    Raises
    ------
    InputError
        If it is not YAML, is empty, too long or nested too deeply, or if it has aliases, which
        could stand for more than memory holds.
    """
    if len(text) > MOST_CHARACTERS:
        message = f"YAML of more than {MOST_CHARACTERS // 10**6} MB; write it as JSON"
        raise InputError([Problem("", message)], source)
    try:
        events = _events(text)
        aliases = [line for line, levels in events if levels == 0]
        deep = [line for line, levels in events if levels > MOST_LEVELS]
        loader = _Loader("" if aliases or deep else text)
        root = loader.get_single_node()
        data = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        told = _better_told(error, text)
        mark = told.problem_mark or told.context_mark
        line = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InputError([Problem(line, f"not YAML: {told.problem}")], source) from error
    except (yaml.YAMLError, ValueError) as error:
        reason = one_line(str(error).partition("\n")[0])
        raise InputError([Problem("", f"not YAML: {reason}")], source) from error
    if aliases:
        message = "an alias; write out what it stands for"
        raise InputError([Problem(f"line {line}", message) for line in aliases], source)
    if deep:
        message = f"nested too deeply; at most {MOST_LEVELS} levels are possible"
        raise InputError([Problem(f"line {deep[0]}", message)], source)
    if root is None:
        raise InputError([Problem("", f"empty; {expected} is expected")], source)
    return Document(data, list(_wrong_keys(root)), root)


def lines_of(root: yaml.Node) -> Lines:
    """The line of each place; for what has a key, that of the key."""
    lines: Lines = {}
    for loc, node, begin in _places(root):
        lines[place_of(loc)] = begin or _line(node)
    return lines


def located(problem: Problem, lines: Lines) -> Problem:
    """A problem whose place begins with the line of it, or of what holds it."""
    place, known = problem.place, problem.place
    if place not in lines and place.endswith("[0]") and place[:-3] in lines:
        place = known = place[:-3]  # One value stands for a list of one.
    while known and known not in lines:
        known = known[: max(known.rfind("."), known.rfind("["), 0)]
    line = f"line {lines.get(known, 1)}"
    return Problem(", ".join(filter(None, [line, place])), problem.message)


def _better_told(error: yaml.MarkedYAMLError, text: str) -> yaml.MarkedYAMLError:
    """The same error in the words of PyYAML's own parser, which takes long for long texts."""
    if len(text) <= MOST_RETOLD:
        try:
            for _ in yaml.parse(text, yaml.SafeLoader):
                pass
        except yaml.MarkedYAMLError as better:
            return better
    return error


def _events(text: str) -> list[tuple[int, int]]:
    """Line and level, from 1, of whatever is too deep; line and 0 of each alias.

    What is too deep would take the stack of whoever reads it, so nothing after it is looked at.
    """
    found: list[tuple[int, int]] = []
    levels = 0
    for event in yaml.parse(text, _Loader):
        line = _line(event)
        if isinstance(event, yaml.CollectionStartEvent):
            levels += 1
            if levels > MOST_LEVELS:
                return [*found, (line, levels)]
        elif isinstance(event, yaml.CollectionEndEvent):
            levels -= 1
        elif isinstance(event, yaml.AliasEvent):
            found.append((line, 0))
    return found


def _wrong_keys(root: yaml.Node) -> Iterator[Problem]:
    """Each key that occurs twice, or is no text."""
    for loc, node, _ in _places(root):
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            place = ", ".join(filter(None, [f"line {_line(key)}", place_of(loc)]))
            if not _is_text(key):
                yield Problem(place, "a key that is no text; write it in quotes")
            elif key.value in seen:
                yield Problem(place, f"{key.value!r} occurs twice in one object; keep one")
            seen.add(key.value if _is_text(key) else None)


def _places(root: yaml.Node) -> Iterator[tuple[tuple[int | str, ...], yaml.Node, int]]:
    """Each node with its location, and the line of its key, or 0; of equal keys the first."""
    unseen: list[tuple[tuple[int | str, ...], yaml.Node, int]] = [((), root, 0)]
    while unseen:
        loc, node, begin = unseen.pop()
        yield loc, node, begin
        below: list[tuple[tuple[int | str, ...], yaml.Node, int]] = []
        if isinstance(node, yaml.SequenceNode):
            below = [((*loc, i), value, 0) for i, value in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            first: dict[str, tuple[yaml.Node, int]] = {}
            for key, value in node.value:
                if _is_text(key):
                    first.setdefault(key.value, (value, _line(key)))
            below = [((*loc, key), value, line) for key, (value, line) in first.items()]
        unseen.extend(reversed(below))


def _is_text(key: yaml.Node) -> bool:
    return bool(key.tag == "tag:yaml.org,2002:str")


def _line(node: yaml.Node | yaml.Event) -> int:
    return node.start_mark.line + 1 if node.start_mark else 1
