"""Command `check`: form all numbers of a certificate again."""

from __future__ import annotations

import rich_click as click

from .commands import BAD_INPUT, FINE, UNSOLVED
from .input_files import share_stdin
from .options import INSTANCE, JSON
from .terminal import answer_json, say, show_text


@click.command()
@INSTANCE
@click.argument("certificate")
@JSON
def check(
    instance: str,
    certificate: str,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Check CERTIFICATE, a file of `solve --certificate`, against INSTANCE.

    Exit code 0 means that all claims are proven, 1 that some are not checked, and 2 that some are
    wrong.
    """
    from rarmodel.api import certifying  # noqa: PLC0415

    share_stdin(instance, certificate)
    checked = certifying.check(instance, certificate)
    if as_json:
        answer_json(checked.summary())
    for finding in checked.findings:
        if finding.outcome == "wrong":
            say(f"{certificate}: {finding.place}: {finding.message}")
        elif not as_json:
            known = "proven: " if finding.outcome == "proven" else ""
            show_text(f"{known}{finding.message}")
    return {"proven": FINE, "not checked": UNSOLVED, "wrong": BAD_INPUT}[checked.outcome]
