"""The libraries that draw: Vega-Altair and vl-convert, which are an extra."""

from __future__ import annotations

from rarmodel.errors import UsageError

EXTRA = "pip install 'rarmodel[plot]'"


def require_extra() -> None:
    """Check that the libraries that draw are installed.

    Raises
    ------
    UsageError
        If one of them is not.
    """
    try:
        import altair  # noqa: F401, PLC0415 - an extra
        import vl_convert  # noqa: F401, PLC0415
    except ImportError as error:
        message = f"charts need {error.name}, which is not installed; install it with: {EXTRA}"
        raise UsageError(message) from error
