"""Read campaign files: YAML, with the line of every problem."""

from __future__ import annotations

import os
from importlib.resources import files as resources
from pathlib import Path

from pydantic import ValidationError

from rarmodel import registry
from rarmodel.errors import InputError, Problem
from rarmodel.files import hides, may_exist, read_bytes
from rarmodel.schema.problems import problems_of, show
from rarmodel.yaml_text import Lines, lines_of, located, parse_yaml

from .campaign_arguments import asked
from .schema import Campaign

FIGURES = "figures"
"""Name for all bundled campaigns together."""


def bundled_campaigns() -> list[str]:
    """Names of the bundled campaigns, one for each figure of the paper's experiments."""
    folder = resources(__package__) / "figures"
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name[0] != "_")


@asked
def read_campaigns(source: str | os.PathLike[str]) -> list[tuple[Campaign, Lines, Path]]:
    """Read a campaign file, or a bundled campaign by name, or all of them as `figures`.

    If a file has the name of a bundled campaign, the file is read.

    Returns
    -------
    list
        Each campaign, the lines of its places, and the folder to which its file names are relative.

    Raises
    ------
    InputError
        With every problem of the file: not readable, not YAML, or not a campaign.
    """
    names = bundled_campaigns()
    # `campaign run figures --output figures` makes a folder of that name, and can be continued.
    if source in {FIGURES, *names} and not hides(source):
        folder = resources(__package__) / "figures"
        return [
            (*parse_campaign((folder / f"{name}.yaml").read_text("utf-8"), name), Path())
            for name in (names if source == FIGURES else [str(source)])
        ]
    if not may_exist(source) and not os.fspath(source).endswith((".yaml", ".yml", "-")):
        known = [FIGURES, *names]
        message = f"neither a file nor a bundled campaign; bundled are {', '.join(known)}"
        message += registry.meant(os.fspath(source), known)
        raise InputError([Problem("", message)], os.fspath(source))
    name, raw = read_bytes(source)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8 text (byte {error.start}); YAML in UTF-8 is expected"
        raise InputError([Problem("", message)], name) from error
    return [(*parse_campaign(text, name), Path(source).parent)]


@asked
def parse_campaign(text: str, source: str = "") -> tuple[Campaign, Lines]:
    """Make a campaign from YAML text; errors as `read_campaigns`."""
    data, problems, root = parse_yaml(text, source, "a campaign in YAML")
    if not isinstance(data, dict):
        message = f"the top level is {show(data)}; an object is expected"
        raise InputError([Problem("line 1", message)], source)
    lines = lines_of(root)
    try:
        campaign = Campaign.model_validate(data)
    except ValidationError as error:
        found = [located(problem, lines) for problem in problems_of(error)]
        raise InputError([*problems, *found], source) from error
    if problems:
        raise InputError(problems, source)
    return campaign, lines
