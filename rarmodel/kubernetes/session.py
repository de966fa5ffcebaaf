"""Read a cluster, and compare schedulers: the calls of `rarmodel kubernetes`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rarmodel.api.comparing import compare as compared
from rarmodel.api.comparison import Comparisons
from rarmodel.api.sources import Source
from rarmodel.defaults import DEFAULT_METHOD
from rarmodel.errors import UsageError
from rarmodel.files import STANDARD_INPUT

from .choices import chosen
from .cluster_account import Reading
from .objects import read_objects
from .reading import reading_of


def read(source: str | os.PathLike[str], **choices: Any) -> Reading:
    """Read a Kubernetes cluster as an instance, with an account of every object.

    Parameters
    ----------
    source
        A file with what `kubectl get … -A -o json` prints, a folder of such files, or `-` for
        standard input.
    **choices
        `levels`, `now`, `profiles`, `cluster`, `rates`, `contention`, `objective`, `slot_seconds`,
        `default_seconds` and `default_model` of `chosen`.

    Raises
    ------
    InputError
        If a file is unusable, or no node or no job can be used.
    UsageError
        If a choice is invalid.
    """
    try:
        made = chosen(**choices)
    except TypeError as error:
        raise UsageError(str(error).partition(") ")[2] or str(error)) from error
    path = Path(source)
    name = "kubernetes" if os.fspath(source) == STANDARD_INPUT else path.resolve().stem
    return reading_of(read_objects(source), made, name or "kubernetes")


def compare(
    instance: Source | Reading, *, method: str = DEFAULT_METHOD, **limits: Any
) -> Comparisons:
    """Plan an instance beside what Kueue and Volcano would do with it, with proven bounds.

    Parameters
    ----------
    instance
        A reading, an instance, or its file.
    method
        The method that plans.
    **limits
        `objective`, `time_limit`, `threads`, `seed`, `progress` and `each`, as for
        `rarmodel.compare`.

    Raises
    ------
    InputError, UsageError
        As `rarmodel.compare`.
    """
    from .schedulers import SCHEDULERS  # noqa: PLC0415 - loads Numba

    problem = instance.instance if isinstance(instance, Reading) else instance
    return compared(problem, methods=[*SCHEDULERS, method], **limits)
