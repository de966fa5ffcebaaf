"""Draws: instances with seeds, on each of which all alternatives are tried."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import YAML
from rarmodel.instances import names
from rarmodel.schema import Instance
from rarmodel.workloads import FAMILIES

from .alternatives import Draw
from .inputs import generate
from .sources import Source, load_instance, with_objective

ENDINGS = (".json", *YAML)
"""Files of a folder that are instances."""


def draws_of(
    instances: Source | Iterable[Source],
    seeds: Sequence[int],
    objective: str | Sequence[str] | None,
) -> list[tuple[Draw, Instance]]:
    """Each instance with each seed; a random family has another instance for each seed.

    Raises
    ------
    InputError
        If an instance is malformed, or a folder has none.
    UsageError
        If there is no instance, or slots differ in length.
    """
    if isinstance(instances, Instance | Mapping | str | os.PathLike):
        instances = [instances]
    found = []
    for source in (one for some in instances for one in _expanded(some)):
        same = None if _is_family(source) else with_objective(load_instance(source), objective)
        for seed in seeds:
            instance = same
            if instance is None:
                instance = with_objective(generate(str(source), seed=seed), objective)
            found.append((Draw(instance.name, seed), instance))
    if not found:
        raise UsageError("name at least one instance")
    lengths = sorted({instance.time.slot_seconds for _, instance in found})
    if len(lengths) > 1:
        told = " and ".join(f"{length:g} s" for length in lengths)
        raise UsageError(f"the instances have slots of {told}; give them slots of one length")
    return found


def _expanded(source: Source) -> Iterator[Source]:
    """A source, or the files of a folder in alphabetical order."""
    if not isinstance(source, str | os.PathLike) or not Path(source).is_dir():
        yield source
        return
    files = sorted(path for path in Path(source).iterdir() if path.name.endswith(ENDINGS))
    if not files:
        raise InputError(
            [Problem("", f"a folder without instances, files that end in {', '.join(ENDINGS)}")],
            os.fspath(source),
        )
    yield from files


def _is_family(source: Source) -> bool:
    """Whether a source names a random family, and no file or bundled instance."""
    named = isinstance(source, str) and source in FAMILIES and source not in names()
    return named and not Path(str(source)).exists()
