"""Commands and options of the help in groups: the common ones first, the advanced ones last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import rich_click as click
from rich_click import RichCommandPanel, RichOptionPanel

COMMANDS: Mapping[str, Sequence[str]] = {
    "Solve": ("solve", "verify", "audit", "check", "formulate"),
    "Data": ("generate", "import", "import-requests", "calibrate", "describe", "schema"),
    "Compare": ("compare", "simulate", "what-if", "frontier", "campaign", "plot", "report"),
    "Cluster": ("slurm", "kubernetes", "testbed"),
    "Lists": ("list", "instances"),
}
"""The commands by group."""

PLAIN, STOP, OUTPUT, ADVANCED = "Options", "When to stop", "Output", "Advanced"
JOBS, CLUSTER, TRACE = "Jobs", "Cluster", "Jobs of the trace"
ORDER = (PLAIN, CLUSTER, JOBS, TRACE, STOP, OUTPUT, ADVANCED)
"""The groups of options, from the top."""

OPTIONS: Mapping[str, Sequence[str]] = {
    CLUSTER: ("cluster", "contention", "capacities", "slurm-conf", "slurm-topology"),
    JOBS: (
        *("sizes", "job-iterations", "iteration-slots", "execution-slots", "gradient-mb"),
        *("mb-per-second", "forward-ms-per-sample", "backward-ms"),
    ),
    TRACE: (
        *("format", "column", "skip-invalid", "window", "time-zone", "group", "arrivals"),
        *("max-jobs", "default-model", "measured-gbps", "restore-seconds"),
    ),
    STOP: ("time-limit", "iterations", "patience", "gap", "looks"),
    OUTPUT: (
        *("output", "script", "undo", "record", "certificate", "csv", "table", "plot", "part"),
        *("json", "json-log"),
    ),
    ADVANCED: (
        *("solver-option", "data", "start", "bound", "neighbourhood", "model-only", "scheduler"),
        *("threads", "seed", "log", "max-size", "lower-bound", "horizon", "slot-seconds"),
        *("default-seconds", "round", "message-mb", "buffer-ms", "scale", "threshold", "most"),
    ),
}
"""The options by group; all others are in the first one."""

_PLAIN_HERE = {"generate": ("seed",), "campaign": ("scheduler",)}
"""Options that are no advanced ones in some command."""
FEW = 6
"""So few options need no groups."""


def panels_of(name: str, command: click.Command) -> dict[str, list[str]]:
    """The options of a command by group, each by its longest name."""
    options = [one for one in command.params if isinstance(one, click.Option)]
    longest = [max(one.opts, key=len) for one in options]
    if len(options) <= FEW:
        return {PLAIN: longest}
    groups = {option: group for group, some in OPTIONS.items() for option in some}
    found: dict[str, list[str]] = {group: [] for group in ORDER}
    for option in longest:
        bare = option.removeprefix("--")
        here = bare in _PLAIN_HERE.get(name.partition(" ")[0], ())
        found[PLAIN if here else groups.get(bare, PLAIN)].append(option)
    return {group: some for group, some in found.items() if some}


def group_help(command: click.Command, name: str = "") -> None:
    """Let the help of a command and of its subcommands show groups."""
    inner = getattr(command, "commands", {})
    for part, below in inner.items():
        group_help(below, f"{name} {part}".strip())
    if not isinstance(command, click.RichCommand):
        return
    if not name:
        command.panels = [RichCommandPanel(group, list(some)) for group, some in COMMANDS.items()]
    elif not inner:
        panels = panels_of(name, command)
        command.panels = [RichOptionPanel(group, some) for group, some in panels.items()]
