"""Licences in a trace of Slurm: who held how many, and how many there are.

`sacct` says what jobs asked for and held, and not how many licences there are: `slurm.conf` does,
in `Licenses=matlab:10`. Where it does not, as for licences of a remote server, rarmodel takes the
most that jobs of the trace held at once. There were no fewer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rarmodel.counting import counted

from .trace_format import TraceJob

_ONE = re.compile(r"([^\s:*|]+?)(?:[:*](\d+))?")
"""A licence in a request, with its number; Slurm 2.4 wrote `*`."""

_TRES = "license/"
"""Trackable resources that are licences."""


class Count(NamedTuple):
    """How many there are of a licence.

    Attributes
    ----------
    number
        How many.
    stated
        Whether `slurm.conf` says so; otherwise the trace's jobs held so many at once.
    """

    number: int
    stated: bool

    @property
    def told(self) -> str:
        """The number, and where it comes from."""
        return f"{self.number} of slurm.conf" if self.stated else f"{self.number} held at once"


def licences_in(text: str) -> dict[str, int]:
    """Licences by name in text of Slurm, such as `matlab:2,ansys`.

    A request that leaves Slurm the choice, such as `a|b`, is one name that no licence has.
    """
    found = Counter[str]()
    for part in filter(None, re.split("[,;]", text)):
        one = _ONE.fullmatch(part)
        if one is None:
            return {text: 1}
        found[one[1]] += int(one[2] or 1)
    return dict(found)


def licences_of_tres(tres: str) -> dict[str, int]:
    """The same in trackable resources, such as `cpu=8,license/matlab=2`."""
    pairs = (part.partition("=") for part in tres.split(",") if part.startswith(_TRES))
    return {name.removeprefix(_TRES): int(n) for name, _, n in pairs if re.fullmatch("[0-9]+", n)}


def is_choice(name: str) -> bool:
    """Whether a name is a request that leaves Slurm the choice: the trace does not say which."""
    return "|" in name


def counts_of(jobs: Iterable[TraceJob], stated: Mapping[str, int]) -> dict[str, Count]:
    """By name, how many there are of the licences that jobs held.

    A licence has none if `slurm.conf` does not list it, and the trace does not say when any of its
    jobs started.

    Parameters
    ----------
    jobs
        All jobs of the trace, also those without GPUs.
    stated
        The licences of `slurm.conf`.
    """
    changes: dict[str, list[tuple[float, int]]] = {}
    asked = set[str]()
    for job in jobs:
        for name, number in job.licences:
            if is_choice(name):
                continue
            asked.add(name)
            if job.start is not None and job.seconds:
                start = job.start.seconds
                changes.setdefault(name, []).append((start, number))
                changes[name].append((start + job.seconds, -number))
    found = {}
    for name in sorted(asked):
        if name in stated:
            found[name] = Count(stated[name], stated=True)
        elif name in changes:
            found[name] = Count(_most(changes[name]), stated=False)
    return found


def _most(changes: Iterable[tuple[float, int]]) -> int:
    """The most that was held at once: what is given back at a moment can be taken then."""
    held = most = 0
    for _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most


def why_lacking(licences: Mapping[str, int], counts: Mapping[str, Count]) -> str:
    """Why a job can never have its licences; empty if it can."""
    for name, number in licences.items():
        if name in counts and number > counts[name].number:
            return f"it asks for {number} of licence {name!r}; there are {counts[name].told}"
    return ""


def kept_of_licences(asked: Iterable[Mapping[str, int]], counts: Mapping[str, Count]) -> list[str]:
    """What becomes of the licences that jobs of an instance asked for, a line each."""
    jobs = Counter(name for one in asked for name in one)
    kept = ", ".join(f"{name!r} ({counts[name].told})" for name in sorted(jobs) if name in counts)
    lines = [f"kept: licences as resources: {kept}"] if kept else []
    for name in sorted(jobs.keys() - counts.keys()):
        why = "nothing says how many there are"
        if is_choice(name):
            why = "the trace does not say which"
        lines.append(f"not kept: licence {name!r} of {counted(jobs[name], 'job')}: {why}")
    return lines
