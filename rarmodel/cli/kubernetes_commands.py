"""The commands about a recorded Kubernetes cluster: `kubernetes read` and `compare`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from rarmodel.defaults import DEFAULT_METHOD, SEARCH_SECONDS

from .commands import FINE, UNSOLVED
from .input_files import share_stdin
from .named_numbers import merged
from .options import (
    INSTANCE,
    JSON,
    OBJECTIVE,
    POSITIVE,
    SEED,
    SLOT_LENGTH,
    THREADS,
    objective_option,
)
from .output_files import check_output
from .queue_readings import OUTPUT, RATES_OF_CLUSTER, answer_reading, default_seconds_option
from .terminal import answer_json, progress, show, show_text


@click.group(no_args_is_help=False)
def kubernetes() -> None:
    """Read the jobs of a Kubernetes cluster from what kubectl prints; nothing there is changed."""


@kubernetes.command()
@click.option(
    "--from",
    "source",
    metavar="FILE",
    required=True,
    help="The output of `kubectl get … -A -o json`: a file, a folder of files, or - for stdin.",
)
@click.option(
    "--levels",
    metavar="LABEL[,LABEL…]",
    help="Labels of nodes that name the parts of the network, from the top. By default rarmodel "
    "looks for Kueue's topology, HyperNodes, and labels of Topograph and of clouds.",
)
@click.option(
    "--now",
    metavar="MOMENT",
    help="When slot 0 begins, such as 2026-11-28T10:00:00Z. By default the last moment in the "
    "files.",
)
@click.option(
    "--profiles",
    metavar="FILE",
    help="JSON or YAML file with profiles of jobs by name, namespace, queue or kind.",
)
@click.option(
    "--default-model",
    "model",
    metavar="NAME",
    default="resnet50",
    show_default=True,
    help="Model that a job without profile trains; none if such jobs exchange nothing.",
)
@click.option(
    "--parts/--no-parts",
    default=True,
    help="Whether nodes with equal parts of GPUs, and jobs on them, are in the instance. The "
    "packing of Kueue and Volcano knows only whole GPUs. Default: --parts.",
)
@SLOT_LENGTH
@default_seconds_option("profile and time limit")
@RATES_OF_CLUSTER
@objective_option("Objective of the instance")
@OUTPUT
@JSON
def read(
    source: str,
    levels: str | None,
    profiles: str | None,
    model: str,
    output: str | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> int:
    """Read a cluster as an instance, and say how each object was used."""
    from rarmodel import kubernetes as room  # noqa: PLC0415

    check_output(output, as_json=as_json)
    share_stdin(source, profiles)
    file, rates = merged("--cluster", options.pop("cluster"))
    reading = room.read(
        source,
        levels=levels.split(",") if levels else (),
        profiles=profiles,
        default_model=model,
        cluster=file,
        rates=rates,
        **options,
    )
    answer_reading(reading, output, as_json=as_json)
    return FINE


@kubernetes.command()
@INSTANCE
@click.option(
    "--method",
    metavar="NAME",
    default=DEFAULT_METHOD,
    show_default=True,
    help="Method that plans; `rarmodel list methods` lists them.",
)
@OBJECTIVE
@click.option(
    "--time-limit",
    type=POSITIVE,
    metavar="SECONDS",
    default=SEARCH_SECONDS,
    show_default=True,
    help="Stop the plan after this time, in seconds, with the best one so far.",
)
@SEED
@THREADS
@JSON
def compare(
    instance: str,
    objective: str | list[str] | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> int:
    """Plan INSTANCE beside the queue order and the packing of Kueue and of Volcano.

    INSTANCE is a file of `rarmodel kubernetes read`, or any other.
    """
    from rarmodel import kubernetes as room  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    with progress() as (name, report):
        made = room.compare(
            instance,
            objective=objective,
            progress=report,
            each=lambda problem, part, number, total: name(
                f"{problem.name}: {part}, {number} of {total}",
                problem.time,
                limit=options["time_limit"],
                objective=problem.objectives[0],
            ),
            **options,
        )
    if as_json:
        answer_json([row for one in made for row in one.rows()])
    else:
        for one in made:
            show(tables.of_rows(one.instance, one.table(), tables.COMPARED))
            for line in one.why_not_optimal():
                show_text(line)
    return FINE if all(one.best_makespan is not None for one in made) else UNSOLVED
