"""The commands of the testbed: `testbed up`, `run`, `measure`, `play` and `down`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from rarmodel.defaults import (
    TESTBED_BUFFER_MS,
    TESTBED_MBIT,
    TESTBED_SECONDS,
    TESTBED_SERVERS,
)

from .input_files import share_stdin
from .number_types import Whole
from .options import INSTANCE, POSITIVE, SEED, together
from .terminal import answer, say, show

if TYPE_CHECKING:
    from rarmodel.testbed import Plan, Timing

NETWORK = (
    click.option(
        "--servers",
        type=Whole(2),
        metavar="N",
        help=f"Number of servers of a new testbed. By default {TESTBED_SERVERS}.",
    ),
    click.option(
        "--mbit",
        type=POSITIVE,
        metavar="MBIT",
        help=f"Rate of its links in Mbit/s. By default {TESTBED_MBIT:g}.",
    ),
    click.option(
        "--buffer-ms",
        type=POSITIVE,
        metavar="MS",
        help="Time that the longest queue of a link takes to drain, in milliseconds. By default "
        f"{TESTBED_BUFFER_MS:g}.",
    ),
)
MEASURED = (
    click.option(
        "--seconds",
        type=POSITIVE,
        metavar="SECONDS",
        default=TESTBED_SECONDS,
        show_default=True,
        help="Time to measure each run, in seconds; longer where iterations are long.",
    ),
    click.option(
        "--output",
        metavar="FILE",
        required=True,
        help="Write the table to this CSV file, for `rarmodel calibrate`.",
    ),
)


@click.group(no_args_is_help=False)
def testbed() -> None:
    """Time real rings in network namespaces of this machine (Linux, root)."""


@testbed.command()
@together(*NETWORK)
def up(**options: Any) -> int:
    """Make a network of servers around one switch, until `testbed down`."""
    from rarmodel import testbed as bed  # noqa: PLC0415

    bed.up_star(**{name: value for name, value in options.items() if value is not None})
    answer(" ".join(sorted(bed.existing())))
    return 0


@testbed.command()
@click.argument("plan")
@together(*NETWORK, *MEASURED)
def run(plan: str, output: str, **options: Any) -> int:
    """Time the rings of PLAN, a YAML or JSON file, on the testbed that is up, or its own."""
    from rarmodel import testbed as bed  # noqa: PLC0415

    return _measure(bed.read_plan(plan), output, options)


@testbed.command()
@INSTANCE
@click.argument("schedule")
@click.option(
    "--scale",
    type=POSITIVE,
    metavar="X",
    default=100.0,
    show_default=True,
    help="Divide rates of links and sizes of gradients by X, so that times stay those of INSTANCE.",
)
@click.option(
    "--output",
    metavar="FILE",
    required=True,
    help="Write measured and predicted times of each job to this CSV file.",
)
def play(instance: str, schedule: str, scale: float, output: str) -> int:
    """Play SCHEDULE with real rings, and show when its jobs complete beside the predictions."""
    from rarmodel import files  # noqa: PLC0415
    from rarmodel import testbed as bed  # noqa: PLC0415
    from rarmodel.api import sources  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    share_stdin(instance, schedule)
    files.check_writable(output)
    problem, plan = sources.load_instance(instance), files.read_schedule(schedule)
    played = bed.play(problem, plan, scale=scale, progress=say)
    rows = bed.rows_of(problem, plan, played)
    files.write_text(output, bed.csv_of(rows))
    show(tables.of_rows(None, [{name: str(cell) for name, cell in row.items()} for row in rows]))
    return 0


@testbed.command()
@click.option(
    "--mixes",
    type=Whole(0),
    metavar="N",
    default=20,
    show_default=True,
    help="Number of random mixes of rings, to test models on.",
)
@SEED
@together(*NETWORK, *MEASURED)
def measure(mixes: int, seed: int, output: str, **options: Any) -> int:
    """Time rings alone, on the same links, across links, with compute, and in random mixes."""
    from rarmodel import testbed as bed  # noqa: PLC0415

    return _measure(bed.standard_plan(mixes, seed), output, options)


def _measure(plan: Plan, output: str, options: dict[str, Any]) -> int:
    from rarmodel import files  # noqa: PLC0415
    from rarmodel import testbed as bed  # noqa: PLC0415

    from . import measurement_tables  # noqa: PLC0415

    files.check_writable(output)
    timings: list[Timing] = []
    for found in bed.measure(plan, progress=say, **options):
        timings += found
        files.write_text(output, bed.table_of(timings))  # Nothing is lost of a run cut short.
    show(measurement_tables.timings(timings))
    return 0


@testbed.command()
def down() -> int:
    """Remove the testbed, also one that a killed run has left."""
    from rarmodel import testbed as bed  # noqa: PLC0415

    bed.check_possible()
    gone = bed.down()
    answer(f"removed: {', '.join(sorted(gone))}" if gone else "no testbed is up")
    return 0
