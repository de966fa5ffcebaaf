"""What the commands share that read a live queue, as of Slurm or of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import rich_click as click

from .named_numbers import RATES, named_option
from .options import POSITIVE
from .output_files import write_json
from .terminal import answer_json, say, show_text

if TYPE_CHECKING:
    from rarmodel.schema import Instance

RATES_OF_CLUSTER = named_option(
    "--cluster",
    "Rates of the cluster",
    RATES,
    file="rates and contention, such as `rarmodel calibrate` writes",
)
OUTPUT = click.option(
    "--output", metavar="FILE", help="Write the instance to this file; - for stdout."
)


def default_seconds_option(lacks: str) -> Callable[..., Any]:
    """Add the option for the duration of jobs about which nothing is known."""
    return click.option(
        "--default-seconds",
        type=POSITIVE,
        metavar="SECONDS",
        default=86_400.0,
        show_default=True,
        help=f"Duration of a job without {lacks}.",
    )


class Reading(Protocol):
    """A queue as an instance, with its account."""

    @property
    def instance(self) -> Instance:
        """The instance."""
        ...

    def lines(self) -> list[str]:
        """The account in lines."""
        ...

    def summary(self) -> dict[str, Any]:
        """The account as plain data."""
        ...


def answer_reading(reading: Reading, output: str | None, *, as_json: bool) -> None:
    """Write the instance of a reading if that is asked for, and say how its jobs were used."""
    from rarmodel import files  # noqa: PLC0415 - loads slowly

    if output is not None:
        write_json(files.to_json(reading.instance), output, "instance")
    if as_json:
        answer_json(reading.summary())
    else:
        for line in reading.lines():
            (say if output == "-" else show_text)(line)
