"""Shell completion: names of parts, instances and campaigns, files and folders.

Completion depends on the names of arguments and options and on FILE and DIR in their help, so it is
the same in every command. Nothing is loaded before a shell asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import rich_click as click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from rarmodel import registry
from rarmodel.kinds import LISTED


class Completed(StringParamType):
    """Text that a shell completes to one of several names, or to a file or folder."""

    def __init__(
        self,
        names: Callable[[], Iterable[str]] = tuple,
        other: Literal["file", "dir"] | None = None,
    ) -> None:
        self.names = names
        self.other = other

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Names with this beginning; the shell itself looks for files and folders."""
        before, comma, last = incomplete.rpartition(",")  # Some options take a list of names.
        names = (name for name in self.names() if name.startswith(last))
        found = [CompletionItem(before + comma + name) for name in names]
        # Bash forgets what comes before the word that it is to look for files.
        return [CompletionItem(incomplete, type=self.other), *found] if self.other else found


def _instances() -> list[str]:
    from rarmodel.instances import names  # noqa: PLC0415

    return names()


def _listed_families() -> list[str]:
    from rarmodel.instances import names_of_families  # noqa: PLC0415

    return names_of_families()


def _campaigns() -> list[str]:
    from rarmodel.campaigns.campaign_reader import FIGURES, bundled_campaigns  # noqa: PLC0415

    return [FIGURES, *bundled_campaigns()]


def _families() -> Iterable[str]:
    from rarmodel.workloads import FAMILIES  # noqa: PLC0415

    return FAMILIES


def _formats() -> Iterable[str]:
    from rarmodel.workloads import FORMATS  # noqa: PLC0415

    return FORMATS


def _models() -> Iterable[str]:
    from rarmodel.workloads.model_profiles import profiles  # noqa: PLC0415

    return profiles()


def _features() -> Iterable[str]:
    from rarmodel.workloads.drawn import KNOWN  # noqa: PLC0415

    return [name.replace(" ", "-") for name in KNOWN]


def _parts() -> Iterable[str]:
    from rarmodel.drawing.parts import PARTS  # noqa: PLC0415

    return PARTS


def _solve_parts() -> Iterable[str]:
    from rarmodel.drawing.parts import SOLVE_PARTS  # noqa: PLC0415

    return SOLVE_PARTS


def _measures() -> Iterable[str]:
    from rarmodel.drawing.parts import MEASURES  # noqa: PLC0415

    return MEASURES


FILE, FOLDER = Completed(other="file"), Completed(other="dir")
BY_NAME = {
    "kind": Completed(partial(list, LISTED)),
    "instance": Completed(_instances, "file"),
    "method": Completed(partial(registry.names, "methods")),
    "formulation": Completed(partial(registry.names, "formulations")),
    "bound": Completed(partial(registry.names, "bounds")),
    "neighbourhood": Completed(partial(registry.names, "neighbourhoods")),
    "solver": Completed(partial(registry.names, "solvers")),
    "policy": Completed(partial(registry.names, "policies")),
    "placement": Completed(partial(registry.names, "placements")),
    "objective": Completed(partial(registry.names, "objectives")),
    "part": Completed(_parts),
    "solve_part": Completed(_solve_parts),
    "measure": Completed(_measures),
    "family": Completed(_families),
    "listed_family": Completed(_listed_families),
    "feature": Completed(_features),
    "form": Completed(_formats),
    "model": Completed(_models),
    "file": Completed(_campaigns, "file"),
    "plan": FILE,
    "request": FILE,
    "schedule": FILE,
    "certificate": FILE,
    "table": FILE,
    "trace": FILE,
    "source": FILE,
}
"""Completions by the name of an argument or option, in the singular."""
BY_METAVAR = {"FILE": FILE, "DIR": FOLDER}


def complete(command: click.Command) -> None:
    """Let shells complete the arguments and options of a command and its subcommands."""
    for inner in getattr(command, "commands", {}).values():
        complete(inner)
    for parameter in command.params:
        if parameter.type is click.STRING:
            name = (parameter.name or "").removesuffix("s")
            by_metavar = BY_METAVAR.get(parameter.metavar or "", click.STRING)
            parameter.type = BY_NAME.get(name, by_metavar)
