"""Reading campaign files: YAML, with the line of everything that is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.resources import files as resources
from pathlib import Path

import yaml
from pydantic import ValidationError

from rarmodel.errors import InputError, Problem, one_line
from rarmodel.files import may_exist, read_bytes
from rarmodel.schema.problems import place_of, problems_of, show

from .schema import Campaign

FIGURES = "figures"
"""Name that stands for all bundled campaigns."""

MAX_LEVELS = 100
"""Most objects and lists of a file, one within the other."""

Lines = dict[str, int]
"""Line, from 1, of each place in a file."""


def bundled_campaigns() -> list[str]:
    """Names of the bundled campaigns: one for each figure of the paper's experiments."""
    folder = resources(__package__) / "figures"
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name[0] != "_")


def read_campaigns(source: str | os.PathLike[str]) -> list[tuple[Campaign, Lines, Path]]:
    """Read a campaign file, or a bundled campaign by name, or all of them as `figures`.

    A file of such a name comes first.

    Returns
    -------
    list
        Each campaign, the lines of its places, and the folder that its files are relative to.

    Raises
    ------
    InputError
        With every problem of the file: not readable, not YAML, or not a campaign.
    """
    names = bundled_campaigns()
    if source in {FIGURES, *names} and not may_exist(source):
        folder = resources(__package__) / "figures"
        return [
            (*parse_campaign((folder / f"{name}.yaml").read_text("utf-8"), name), Path())
            for name in (names if source == FIGURES else [str(source)])
        ]
    if not may_exist(source) and not os.fspath(source).endswith((".yaml", ".yml", "-")):
        message = (
            f"neither a file nor a bundled campaign; bundled are {', '.join([FIGURES, *names])}"
        )
        raise InputError([Problem("", message)], os.fspath(source))
    name, raw = read_bytes(source)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8 text (byte {error.start}); YAML in UTF-8 is expected"
        raise InputError([Problem("", message)], name) from error
    return [(*parse_campaign(text, name), Path(source).parent)]


def parse_campaign(text: str, source: str = "") -> tuple[Campaign, Lines]:
    """Make a campaign from YAML text; errors as `read_campaigns`."""
    try:
        loader = yaml.SafeLoader(text)
        aliases = list(_aliases(text))
        root = loader.get_single_node()
        data = None if root is None or aliases else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InputError([Problem(line, f"not YAML: {error.problem}")], source) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        if isinstance(error, RecursionError):
            reason = "nested too deeply"
        raise InputError([Problem("", f"not YAML: {one_line(reason)}")], source) from error
    if aliases:  # They could stand for more than memory holds.
        message = "an alias; write out what it stands for"
        raise InputError([Problem(f"line {line}", message) for line in aliases], source)
    if root is None:
        raise InputError([Problem("", "empty; a campaign in YAML is expected")], source)
    if not isinstance(data, dict):
        message = f"the top level is {show(data)}; an object is expected"
        raise InputError([Problem("line 1", message)], source)
    lines: Lines = {}
    problems = _walk(root, (), lines)
    try:
        campaign = Campaign.model_validate(data)
    except ValidationError as error:
        found = [located(problem, lines) for problem in problems_of(error)]
        raise InputError([*problems, *found], source) from error
    if problems:
        raise InputError(problems, source)
    return campaign, lines


def _aliases(text: str) -> Iterator[int]:
    """Line of each alias.

    Raises
    ------
    RecursionError
        If there are more levels than a campaign can have: PyYAML's time grows with their square.
    """
    levels = 0
    for event in yaml.parse(text):
        levels += isinstance(event, yaml.CollectionStartEvent)
        levels -= isinstance(event, yaml.CollectionEndEvent)
        if levels > MAX_LEVELS:
            raise RecursionError
        if isinstance(event, yaml.AliasEvent):
            yield event.start_mark.line + 1 if event.start_mark else 1


def _walk(node: yaml.Node, loc: tuple[int | str, ...], lines: Lines) -> list[Problem]:
    """Note the line of each place; each key that occurs twice, or is no text."""
    lines[place_of(loc)] = node.start_mark.line + 1
    problems = []
    entries: dict[int | str, yaml.Node] = {}
    begins: dict[int | str, int] = {}
    if isinstance(node, yaml.SequenceNode):
        entries = dict(enumerate(node.value))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = f"line {key.start_mark.line + 1}"
            place = ", ".join(filter(None, [line, place_of(loc)]))
            if key.tag != "tag:yaml.org,2002:str":
                problems.append(Problem(place, "a key that is no text; write it in quotes"))
            elif key.value in entries:
                message = f"{key.value!r} occurs twice in one object; keep one"
                problems.append(Problem(place, message))
            else:
                entries[key.value] = value
                begins[key.value] = key.start_mark.line + 1
    for key, value in entries.items():
        problems.extend(_walk(value, (*loc, key), lines))
        if key in begins:
            lines[place_of((*loc, key))] = begins[key]
    return problems


def located(problem: Problem, lines: Lines) -> Problem:
    """A problem whose place begins with the line of it, or of what holds it."""
    place, known = problem.place, problem.place
    if place not in lines and place.endswith("[0]") and place[:-3] in lines:
        place = known = place[:-3]  # One value stands for a list of one.
    while known and known not in lines:
        known = known[: max(known.rfind("."), known.rfind("["), 0)]
    line = f"line {lines.get(known, 1)}"
    return Problem(", ".join(filter(None, [line, place])), problem.message)
