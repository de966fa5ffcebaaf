"""Folders in which a campaign's processes work: made for it, noted in its ledger, and removed.

Nothing else is ever removed from a campaign's folder, whatever its name.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rarmodel.files import unusable

from .ledger import Ledger

PREFIX = ".rarmodel-run-"


def make_workplace(ledger: Ledger, folder: Path) -> Path:
    """A new folder in a campaign's folder.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    try:
        place = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    except OSError as error:
        raise unusable(error, str(folder), "no folder can be made in it") from error
    ledger.add_workplace(place.name)
    return place


def workplaces(ledger: Ledger, folder: Path) -> list[Path]:
    """Those that are still there: drivers that were killed have left them."""
    names = [Path(name).name for name in ledger.workplaces()]
    return [folder / name for name in names if name.startswith(PREFIX)]


def remove_workplace(ledger: Ledger, place: Path) -> None:
    """Remove one with all it holds; the ledger keeps it in mind if it cannot be removed."""
    shutil.rmtree(place, ignore_errors=True)
    if not place.exists():
        ledger.forget_workplace(place.name)
