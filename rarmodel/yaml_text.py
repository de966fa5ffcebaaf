"""Decode YAML to the same kinds of values as JSON, with the line of each place.

Values follow the core schema of YAML 1.2, so JSON text keeps its meaning: of plain words only
`true`, `false` and `null` are not text, `012` is 12, and `12:30` is text. PyYAML alone follows
YAML 1.1, where `on` is a truth value and `12:30` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from .errors import InputError, Problem, one_line
from .schema.problems import place_of

MOST_LEVELS = 100
"""Most levels of nesting."""

MOST_CHARACTERS = 50_000_000
"""Most characters of a text: PyYAML needs about 40 bytes for each."""

MOST_RETOLD = 1_000_000
"""Up to this many characters, PyYAML's own parser explains errors instead of the parser in C."""

TOO_DEEP = "exceeded maximum nesting depth"
"""Words of the parser in C, from LibYAML 0.2.6 on. It looks ahead, and so may say this before it
tells of the nodes around.
"""

Lines = dict[str, int]
"""Line, from 1, of each place in a text."""

_FLOAT = r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
_CORE = {
    "null": (r"null|Null|NULL|~|", "nN~"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (_FLOAT, "-+.0123456789"),
}
"""Meaning of a plain word, by the first pattern that fits, and its possible first characters."""


# The one in C is some ten times as fast, and part of PyYAML's wheels.
class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader of the core schema."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's way

    def construct_whole(self, node: yaml.ScalarNode) -> int:
        """Decode a whole number: decimal, or with `0o` or `0x`."""
        text = str(node.value)
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


for _kind, (_words, _first) in _CORE.items():
    _pattern = re.compile(f"(?:{_words})$", re.ASCII)
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", _pattern, list(_first))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("$"), [""])
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_whole)


class Document(NamedTuple):
    """A decoded text.

    Attributes
    ----------
    data
        The decoded value.
    problems
        Keys that occur twice or are not text, with their lines.
    root
        The root node, from which `lines_of` finds the lines of places.
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
        Source of the text, for error messages.
    expected
        The expected kind of content, for error messages.

    Raises
    ------
    InputError
        If the text is not YAML, is empty, too long or nested too deeply, or has aliases, which
        could expand beyond all memory.
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
    """The line of each place; for a value with a key, the line of the key."""
    lines: Lines = {}
    for loc, node, begin in _places(root):
        lines[place_of(loc)] = begin or _line(node)
    return lines


def located(problem: Problem, lines: Lines) -> Problem:
    """A problem with the line of its place, or of the enclosing place."""
    place, known = problem.place, problem.place
    if place not in lines and place.endswith("[0]") and place[:-3] in lines:
        place = known = place[:-3]  # One value stands for a list of one.
    while known and known not in lines:
        known = known[: max(known.rfind("."), known.rfind("["), 0)]
    line = f"line {lines.get(known, 1)}"
    return Problem(", ".join(filter(None, [line, place])), problem.message)


def _better_told(error: yaml.MarkedYAMLError, text: str) -> yaml.MarkedYAMLError:
    """The same error in the words of PyYAML's own parser, which is slow for long texts."""
    if len(text) <= MOST_RETOLD:
        try:
            for _ in yaml.parse(text, yaml.SafeLoader):
                pass
        except yaml.MarkedYAMLError as better:
            return better
    return error


def _events(text: str) -> list[tuple[int, int]]:
    """Line and level, from 1, of each node that is too deep; line and 0 of each alias.

    A node that is too deep could exhaust the reader's stack, so the scan stops there.
    """
    found: list[tuple[int, int]] = []
    levels = 0
    try:
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
    except yaml.scanner.ScannerError as error:
        if error.problem != TOO_DEEP or error.problem_mark is None:
            raise
        found.append((error.problem_mark.line + 1, MOST_LEVELS + 1))
    return found


def _wrong_keys(root: yaml.Node) -> Iterator[Problem]:
    """Each key that occurs twice or is not text."""
    for loc, node, _ in _places(root):
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            place = ", ".join(filter(None, [f"line {_line(key)}", place_of(loc)]))
            if not _is_text(key):
                yield Problem(place, "a key that is not text; write it in quotes")
            elif key.value in seen:
                yield Problem(place, f"{key.value!r} occurs twice in one object; keep one")
            seen.add(key.value if _is_text(key) else None)


def _places(root: yaml.Node) -> Iterator[tuple[tuple[int | str, ...], yaml.Node, int]]:
    """Each node with its location and the line of its key, or 0; of equal keys only the first."""
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
