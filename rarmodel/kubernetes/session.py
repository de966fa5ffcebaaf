"""Read a cluster: the call of `rarmodel kubernetes read`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rarmodel.errors import UsageError
from rarmodel.files import STANDARD_INPUT

from .choices import chosen
from .objects import read_objects
from .reading import Reading, reading_of


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
