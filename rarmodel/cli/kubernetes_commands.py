"""The command about a recorded Kubernetes cluster: `kubernetes read`."""

from __future__ import annotations

from typing import Any

import rich_click as click

from .input_files import share_stdin
from .named_numbers import RATES, merged, named_option
from .options import JSON, POSITIVE, SLOT_LENGTH, objective_option
from .output_files import check_output, write_json
from .terminal import answer_json, say, show_text

FINE = 0


@click.group(no_args_is_help=False)
def kubernetes() -> None:
    """Read the jobs of a Kubernetes cluster from what kubectl prints; nothing there is changed."""


@kubernetes.command()
@click.option(
    "--from",
    "source",
    metavar="FILE",
    required=True,
    help="What `kubectl get … -A -o json` prints: a file, a folder of files, or - for stdin.",
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
    metavar="NAME",
    default="resnet50",
    show_default=True,
    help="Model that a job without profile trains; none if such jobs exchange nothing.",
)
@SLOT_LENGTH
@click.option(
    "--default-seconds",
    type=POSITIVE,
    metavar="SECONDS",
    default=86_400.0,
    show_default=True,
    help="Duration of a job without profile and time limit.",
)
@named_option(
    "--cluster",
    "Rates of the cluster",
    RATES,
    file="rates and contention, such as `rarmodel calibrate` writes",
)
@objective_option("Objective of the instance")
@click.option("--output", metavar="FILE", help="Write the instance to this file; - for stdout.")
@JSON
def read(
    source: str,
    levels: str | None,
    profiles: str | None,
    output: str | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> int:
    """Read a cluster as an instance, and say how each object was used."""
    from rarmodel import files  # noqa: PLC0415
    from rarmodel import kubernetes as room  # noqa: PLC0415

    check_output(output, as_json=as_json)
    share_stdin(source, profiles)
    file, rates = merged("--cluster", options.pop("cluster"))
    reading = room.read(
        source,
        levels=levels.split(",") if levels else (),
        profiles=profiles,
        cluster=file,
        rates=rates,
        **options,
    )
    if output is not None:
        write_json(files.to_json(reading.instance), output)
    if as_json:
        answer_json(reading.summary())
    else:
        for line in reading.lines():
            (say if output == "-" else show_text)(line)
    return FINE
