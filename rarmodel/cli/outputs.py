"""Files that commands write."""

from __future__ import annotations

from rarmodel.errors import UsageError

from .terminal import answer_text


def check_output(output: str | None, *, as_json: bool = False) -> None:
    """Refuse, before any work, what cannot be written: a file, or two answers to stdout."""
    from rarmodel import files  # noqa: PLC0415 - loads slowly

    if output == "-" and as_json:
        raise UsageError("--output - and --json both write to stdout; choose one")
    if output not in {None, "-"}:
        files.check_writable(output)


def write_json(text: str, output: str) -> None:
    """Write JSON to a file, whole or not at all, or to stdout if that is `-`."""
    from rarmodel import files  # noqa: PLC0415

    if output == "-":
        answer_text(text.rstrip("\n"))
    else:
        files.write_text(output, text)
