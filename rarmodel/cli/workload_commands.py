"""The commands that make instances: `generate` and `import`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from rarmodel.errors import one_line

from .options import Counts, Number, Span, Weights
from .terminal import answer_json, say

if TYPE_CHECKING:
    from rarmodel.schema import Instance

POSITIVE = Number(0, min_open=True)
NAMED = click.option("--name", metavar="NAME", help="Name of the instance.")


@click.command()
@click.argument("family", metavar="[FAMILY]", default="paper")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Number of jobs.")
@click.option("--servers", type=click.IntRange(1), metavar="N", help="Number of servers.")
@click.option(
    "--capacities", type=Counts(), metavar="N,N,…", help="GPUs that a server can have, e.g. 4,8."
)
@click.option(
    "--sizes", type=Weights(), metavar="N:W,…", help="GPUs of jobs and weights, e.g. 1:3,8:1."
)
@click.option("--iterations", type=Span(int), metavar="A..B", help="Iterations of a job.")
@click.option(
    "--iteration-slots", type=Span(float), metavar="A..B", help="Time of an iteration, in slots."
)
@click.option(
    "--execution-slots", type=Span(int), metavar="A..B", help="Execution time of a job, in slots."
)
@click.option("--gradient-mb", type=Span(float), metavar="A..B", help="Size of gradients.")
@click.option(
    "--gradient-per-second/--gradient-per-job",
    default=None,
    help="Whether that counts for each second of iteration time.",
)
@click.option("--network-gbps", type=POSITIVE, metavar="RATE", help="Of each server's link.")
@click.option("--racks", type=click.IntRange(0), metavar="N", help="A tree of racks; 0: a star.")
@click.option(
    "--oversubscription", type=POSITIVE, metavar="X", help="Rate of a rack's servers over uplink's."
)
@click.option("--intra-server-gbps", type=POSITIVE, metavar="RATE", help="Within a server.")
@click.option("--reduction-gbps", type=POSITIVE, metavar="RATE", help="Of the reduction.")
@click.option("--alpha", type=Number(0), metavar="X", help="Degradation of shared links.")
@click.option("--concurrency", type=Number(0, 1, min_open=True), metavar="X", help="ξ1.")
@click.option("--overhead-ms-per-server", type=Number(0), metavar="MS", help="ξ2.")
@click.option("--no-contention", is_flag=True, help="Gradients and overhead of 0.")
@click.option("--slot-seconds", type=POSITIVE, metavar="SECONDS", help="Length of a slot.")
@click.option("--horizon", type=click.IntRange(1), metavar="SLOTS", help="Number of slots.")
@NAMED
@click.option("--output", metavar="FILE", default="-", help="Write the instance to a file.")
def generate(
    family: str,
    no_contention: bool,  # noqa: FBT001
    name: str | None,
    output: str,
    **knobs: Any,
) -> int:
    """Draw a random instance of FAMILY: paper, contention or small; print it, or write it."""
    from rarmodel import api, files  # noqa: PLC0415

    if output != "-":
        files.check_writable(output)
    given = {key: value for key, value in knobs.items() if value is not None}
    instance = api.generate(family, name=name, contention=not no_contention, **given)
    _write(files.to_json(instance), output)
    say(one_line(_sizes(instance)))
    return 0


def _write(text: str, output: str) -> None:
    """Write an instance to a file, or to stdout."""
    from rarmodel import files  # noqa: PLC0415

    if output == "-":
        answer_json(text.rstrip("\n"))
    else:
        files.write_text(output, text)


def _sizes(instance: Instance) -> str:
    """What an instance is made of, in a line."""
    cluster, time = instance.cluster, instance.time
    return (
        f"{instance.name}: {len(instance.jobs)} jobs, {len(cluster.servers)} servers, "
        f"{cluster.total_gpus} GPUs, horizon {time.horizon} slots of {time.slot_seconds:g} s"
    )
