"""Options whose value is a file, or numbers by name: `--cluster servers=8,network-gbps=25`.

Given several times, they add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rich_click as click

from rarmodel import registry
from rarmodel.errors import UsageError

from .completion import Completed
from .number_types import Number, Whole

Kinds = dict[str, Any]
"""Types of numbers, by name."""
NOTHING = "none"
"""The word for a cluster without any contention."""
RATES: Kinds = dict.fromkeys(
    ("network-gbps", "intra-server-gbps", "reduction-gbps", "oversubscription"),
    Number(0, min_open=True),
)
CONTENTION: Kinds = {
    "alpha": Number(0),
    "concurrency": Number(0, 1, min_open=True),
    "overhead-ms-per-server": Number(0),
}
TERMS: Kinds = {"latency-ms": Number(0), "overlap": Number(1)}
COUNTS: Kinds = {
    "servers": Whole(1),
    "gpus-per-server": Whole(1),
    "gpu-slices": Whole(1),
    "racks": Whole(0),
}
EXPLAINED = {
    "servers": "number of servers",
    "gpus-per-server": "GPUs of each",
    "gpu-slices": "equal slices of each GPU, for jobs on parts of GPUs",
    "racks": "racks below one core switch, 0 for a star",
    "network-gbps": "rate of each server's link in Gbit/s",
    "oversubscription": "rate of the links below a switch divided by that of its uplink",
    "intra-server-gbps": "rate of a ring within one server",
    "reduction-gbps": "rate at which a GPU reduces gradients",
    "alpha": "α, the cost of each further ring on a link beyond its share",
    "concurrency": "ξ1, the share of the rings on a link that communicate at the same moment",
    "overhead-ms-per-server": "ξ2, milliseconds that each server used adds to an iteration",
    "latency-ms": "λ, milliseconds that each step of an exchange takes beside its bits",
    "overlap": "γ, how far exchange and passes overlap, 1 for not at all",
    "model": "count or duty",
}
"""Each number in words, for the help."""


class Named(Completed):
    """Numbers by name; also a file, or the word `none`.

    Parameters
    ----------
    known
        The numbers that there are, each with its type.
    file
        Whether the value can be the name of a file.
    none
        Whether it can be `none`.
    """

    def __init__(self, known: Kinds, *, file: bool = False, none: bool = False) -> None:
        names = [f"{name}=" for name in known] + [NOTHING] * none
        super().__init__(lambda: names, "file" if file else None)
        self.known, self.none = known, none

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The numbers as a dictionary; a file stays text."""
        if isinstance(value, Mapping) or (self.other and "=" not in value):
            return value
        if self.none and value == NOTHING:
            return {NOTHING: True}
        parts = [part.partition("=") for part in value.split(",")]
        names = [name.strip().replace("_", "-") for name, _, _ in parts]
        unknown = [name for name in names if name not in self.known]
        if unknown and self.other and Path(value).exists():
            return value
        if unknown:
            self.fail(registry.unknown("number", sorted(set(unknown)), [*self.known]), param, ctx)
        found: dict[str, Any] = {}
        for name, (_, equals, text) in zip(names, parts, strict=True):
            if name in found:
                self.fail(f"{name} is given twice.", param, ctx)
            if not equals:
                self.fail(f"{name!r} has no value; {name}=VALUE is expected.", param, ctx)
            try:
                found[name] = self.known[name].convert(text.strip(), param, ctx)
            except click.BadParameter as error:
                self.fail(f"{name}: {error.message}", param, ctx)
        return found


def named_option(
    option: str, text: str, known: Kinds, file: str = "", none: str = ""
) -> Callable[..., Any]:
    """An option for numbers by name.

    Parameters
    ----------
    option
        Its name.
    text
        Begin of its help.
    known
        The numbers that there are.
    file
        What a file has, if it can be one.
    none
        What `none` means, if it can be that.
    """
    each = "; ".join(f"{name}, {EXPLAINED[name]}" for name in known)
    shapes = [*(["FILE"] if file else []), "NAME=VALUE,…"]
    parts = [
        f"{text} by name: {each}.",
        *([f"Or a file: {file}."] if file else []),
        *([f"`{NOTHING}`: {none}."] if none else []),
        "This option may be given several times.",
    ]
    return click.option(
        option,
        multiple=True,
        metavar="|".join(shapes),
        type=Named(known, file=bool(file), none=bool(none)),
        help=" ".join(parts),
    )


def merged(
    option: str, given: Sequence[str | Mapping[str, Any]]
) -> tuple[str | None, dict[str, Any]]:
    """The file, and the numbers by name with underscores, of all values of an option.

    Raises
    ------
    UsageError
        If there are several files, or a number is given twice.
    """
    files = [one for one in given if isinstance(one, str)]
    if len(files) > 1:
        raise UsageError(f"{option}: {' and '.join(files)} are two files; one is expected")
    found: dict[str, Any] = {}
    for numbers in given:
        if isinstance(numbers, str):
            continue
        for name, value in numbers.items():
            if name in found:
                raise UsageError(f"{option}: {name} is given twice")
            found[name] = value
    if NOTHING in found and len(found) > 1:
        others = ", ".join(name for name in found if name != NOTHING)
        raise UsageError(f"{option} {NOTHING} excludes {others}")
    return next(iter(files), None), {name.replace("-", "_"): found[name] for name in found}
