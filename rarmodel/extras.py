"""Libraries that few need: each is an extra of the installation, and is loaded when it is used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from .errors import UsageError


def imported(module: str, extra: str, use: str) -> ModuleType:
    """A module of a library that an extra installs.

    Parameters
    ----------
    module
        Full name of the module.
    extra
        Name of the extra.
    use
        What needs it, in the plural, such as `data frames`.

    Raises
    ------
    UsageError
        If the library is not installed; the message names the extra.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        message = f"{use} need {library}, which is not installed; install it with: "
        raise UsageError(f"{message}pip install 'rarmodel[{extra}]'") from error
