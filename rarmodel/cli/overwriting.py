"""No command overwrites what it reads, or one of its outputs by another.

This depends on the names of options and on whether shells complete them to files, so it is the same
in every command, and in those that are still to come.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import rich_click as click

from rarmodel.errors import InputError, Problem

from .completion import Completed

OUTPUTS = frozenset(
    (
        "output",
        "script",
        "undo",
        "csv",
        "rows_to",
        "table_to",
        "plot",
        "picture",
        "report",
        "log",
        "record_to",
        "certificate_to",
    )
)
"""Options whose file or folder is written."""
UPDATED = {("instances improve", "library")}
"""Inputs by command that an output may replace: it is their next version."""
READ_IN = {
    "campaign": ("ledger.sqlite*", "instances/*", "schedules/*"),
    "instances": ("*.json",),
    "kubernetes": ("*.json", "*.yaml", "*.yml"),
    "slurm": ("*.txt",),
}
"""Files that a group of commands reads in a folder that it is given."""
CURE = "name another file"
_BESIDE = {".nl": (".col", ".row")}
"""Files that rarmodel writes beside one with a certain ending."""


class _Named(NamedTuple):
    """A file or folder, and how the user named it."""

    path: str
    option: str


def protect(command: click.Command, name: str = "") -> None:
    """Let a command and its subcommands refuse to overwrite what they read, before any work."""
    for inner_name, inner in getattr(command, "commands", {}).items():
        protect(inner, f"{name} {inner_name}".strip())
    if (callback := command.callback) is not None:

        @wraps(callback)
        def checked(*arguments: Any, **values: Any) -> Any:
            require_apart(command, name, values)
            return callback(*arguments, **values)

        command.callback = checked


def require_apart(command: click.Command, name: str, values: Mapping[str, Any]) -> None:
    """Refuse outputs that would overwrite an input or each other.

    Raises
    ------
    InputError
        With all such outputs.
    """
    written, read = list[_Named](), list[_Named]()
    for parameter in command.params:
        for path in _paths(parameter, values.get(parameter.name or "")):
            if parameter.name in OUTPUTS:
                others = _BESIDE.get(Path(path).suffix.lower(), ())
                some = [path, *(str(Path(path).with_suffix(ending)) for ending in others)]
                written += [_Named(one, _spelt(parameter)) for one in some if one != "-"]
            elif (name, parameter.name) not in UPDATED:
                read.append(_Named(path, _spelt(parameter)))
    problems = [
        Problem(
            output.path, f"{source.option} reads it, so {output.option} cannot write it; {CURE}"
        )
        for output in written
        for source in read
        if _is_same(output.path, source.path) or _is_read_in(name, output.path, source.path)
    ]
    problems += [
        Problem(one.path, f"{one.option} and {other.option} would both write it; {CURE}")
        for i, one in enumerate(written)
        for other in written[:i]
        if _is_same(one.path, other.path)
    ]
    if problems:
        raise InputError(problems)


def _paths(parameter: click.Parameter, value: Any) -> Iterator[str]:
    """Files and folders that a parameter names."""
    kind = parameter.type
    completed = isinstance(kind, Completed) and kind.other is not None
    if completed or isinstance(parameter, click.Argument):
        for one in value if isinstance(value, tuple | list) else [value]:
            if isinstance(one, str) and one:
                yield one


def _spelt(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        return (parameter.name or "").upper().removesuffix("S")
    return max(parameter.opts, key=len)


def _status(path: str) -> os.stat_result | None:
    """What the system says of a file or folder; of standard input, if the path is `-`."""
    try:
        if path == "-":
            return None if sys.stdin is None else os.fstat(sys.stdin.fileno())
        return Path(path).stat()
    except (OSError, ValueError):
        return None  # There is none, or nobody may know.


def _is_same(one: str, other: str) -> bool:
    """Whether two paths lead to one file or folder, by whatever links."""
    first, second = _status(one), _status(other)
    if first is None or second is None:
        return first is second and "-" not in {one, other} and _real(one) == _real(other)
    kept = stat.S_ISREG(first.st_mode) or stat.S_ISDIR(first.st_mode)  # And no device, no pipe.
    return kept and os.path.samestat(first, second)


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def _is_read_in(name: str, output: str, folder: str) -> bool:
    """Whether a file that exists is one that a command reads in a folder."""
    if folder == "-" or not Path(folder).is_dir() or not Path(output).is_file():
        return False
    real = Path(_real(output))
    within = real.is_relative_to(_real(folder))
    return within and any(real.match(some) for some in READ_IN.get(name.partition(" ")[0], ()))
