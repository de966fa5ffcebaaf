"""The commands that make instances: `generate` and `import`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import rich_click as click

from rarmodel.defaults import ARRIVALS
from rarmodel.errors import UsageError, one_line

from .input_files import share_stdin
from .named_numbers import CONTENTION, COUNTS, NOTHING, RATES, TERMS, merged, named_option
from .number_types import Number, Whole
from .options import (
    HORIZON,
    JSON,
    MAX_SIZE,
    POSITIVE,
    SEED,
    SEVERAL,
    SLOT_LENGTH,
    Counts,
    Span,
    Weights,
    objective_option,
)
from .output_files import check_output, write_json
from .terminal import answer_json, say

if TYPE_CHECKING:
    from rarmodel.schema import Instance

WITHOUT = "gradients and overhead are 0, so that no ring slows another"
NAMED = click.option(
    "--name",
    metavar="NAME",
    help="Name of the instance. By default it says what the instance comes from.",
)


@click.command()
@click.argument("family", metavar="[FAMILY]", default="paper")
@SEED
@click.option(
    "--jobs",
    type=Whole(1),
    metavar="N",
    help="Number of jobs. The default of this option and of those below is the family's.",
)
@named_option(
    "--cluster",
    "Numbers of the cluster",
    {name: COUNTS[name] for name in ("servers", "racks")} | RATES,
)
@named_option("--contention", "Numbers of contention", CONTENTION, none=WITHOUT)
@click.option(
    "--capacities",
    type=Counts(),
    metavar="N,N,…",
    help="Numbers of GPUs of a server, all equally likely, such as 4,8.",
)
@click.option(
    "--sizes",
    type=Weights(),
    metavar="N:W,…",
    help="Numbers of GPUs of a job with weights: 1:3,8:1 is three jobs of 1 GPU for each of 8.",
)
@click.option(
    "--job-iterations",
    "iterations",
    type=Span(int),
    metavar="A..B",
    help="Least and greatest number of iterations of a job.",
)
@click.option(
    "--iteration-slots",
    type=Span(float),
    metavar="A..B",
    help="Least and greatest time of an iteration in slots.",
)
@click.option(
    "--execution-slots",
    type=Span(int),
    metavar="A..B",
    help="Least and greatest execution time of a job in slots.",
)
@click.option(
    "--gradient-mb",
    type=Span(float),
    metavar="A..B",
    help="Least and greatest size of a gradient in MB.",
)
@click.option(
    "--mb-per-second/--mb-per-job",
    "gradient_per_second",
    default=None,
    help="Whether --gradient-mb is per second of iteration time or per job.",
)
@click.option(
    "--forward-ms-per-sample",
    type=Span(float),
    metavar="A..B",
    help="Least and greatest time of a sample's forward pass in ms. For stars only, which have no "
    "--iteration-slots, --execution-slots and --mb-per-….",
)
@click.option(
    "--backward-ms",
    type=Span(float),
    metavar="A..B",
    help="Least and greatest time of a backward pass in ms, for stars only.",
)
@click.option(
    "--slot-seconds", type=POSITIVE, metavar="SECONDS", help="Length of a slot in seconds."
)
@HORIZON
@click.option(
    "--with",
    "features",
    multiple=True,
    metavar="FEATURE[:PARAMETER=VALUE,…]",
    help="Add a feature beside the paper's problem, such as releases:within=0.5 or ring-sizes. "
    f"{SEVERAL}",
)
@objective_option("Objective of the instance")
@NAMED
@click.option(
    "--output",
    metavar="FILE",
    default="-",
    show_default=True,
    help="Write the instance to this file; - for stdout.",
)
def generate(
    family: str,
    cluster: tuple[Mapping[str, Any], ...],
    contention: tuple[Mapping[str, Any], ...],
    name: str | None,
    output: str,
    **knobs: Any,
) -> int:
    """Generate a random instance of FAMILY: paper, contention, spread, stars, small or wide."""
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.api import inputs  # noqa: PLC0415

    check_output(output)
    _, numbers = merged("--cluster", cluster)
    _, changes = merged("--contention", contention)
    contended = not changes.pop(NOTHING, False)
    given = {key: value for key, value in knobs.items() if value is not None and value != ()}
    given |= numbers | changes
    instance = inputs.generate(family, name=name, contention=contended, **given)
    write_json(files.to_json(instance), output, "instance")
    say(one_line(_sizes(instance)))
    return 0


@click.command("import")
@click.argument("trace")
@named_option(
    "--cluster",
    "Numbers of the cluster",
    {name: kind for name, kind in COUNTS.items() if name != "racks"} | RATES,
    file="a cluster, an instance, or a table of nodes",
)
@named_option("--contention", "Numbers of contention", CONTENTION | TERMS, none=WITHOUT)
@click.option("--slurm-conf", metavar="FILE", help="Take the nodes from this slurm.conf.")
@click.option(
    "--slurm-topology",
    metavar="FILE",
    help="Take the switches above these nodes from this topology.conf.",
)
@click.option(
    "--format", "form", metavar="NAME", help="Format of the trace. By default it is detected."
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Map a field to a column, for files in no known format: gpus=…, duration=…[:ms]. "
    f"{SEVERAL}",
)
@MAX_SIZE
@click.option(
    "--skip-invalid",
    is_flag=True,
    help="Leave out invalid rows instead of refusing the file.",
)
@click.option(
    "--window",
    metavar="A..B",
    help="Keep jobs submitted in this window: 2017-10-03..2017-10-10, or 0h..24h from the start.",
)
@click.option(
    "--time-zone",
    metavar="ZONE",
    help="Zone of dates without one, in the trace and in --window: +08:00, or Asia/Shanghai.",
)
@click.option(
    "--group",
    metavar="NAME",
    help="Keep jobs of this virtual cluster, partition or similar. By default all.",
)
@click.option(
    "--arrivals",
    type=click.Choice(ARRIVALS),
    default=ARRIVALS[0],
    show_default=True,
    help="Release jobs when they were submitted, with the tenants of the trace; or let all wait at "
    "slot 0, without tenants, as in the paper.",
)
@click.option("--max-jobs", type=Whole(1), metavar="N", help="Keep only the first N jobs.")
@click.option(
    "--default-model",
    "model",
    metavar="NAME",
    help="Model of the jobs whose model is unknown. By default each gets a random one.",
)
@click.option(
    "--default-seconds",
    type=POSITIVE,
    metavar="SECONDS",
    help="Duration in seconds of jobs without one. By default these jobs are left out.",
)
@click.option(
    "--measured-gbps",
    type=POSITIVE,
    metavar="GBPS",
    help="Rate of the servers' links where the trace was recorded, in Gbit/s. The jobs' iterations "
    "are fitted to it. By default it is that of the instance.",
)
@SEED
@SLOT_LENGTH
@click.option(
    "--restore-seconds",
    type=Number(0),
    metavar="SECONDS",
    help="Let jobs be interrupted, with so many seconds of restoration. By default they are not.",
)
@HORIZON
@NAMED
@click.option("--output", metavar="FILE", help="Write the instance to this file; - for stdout.")
@JSON
def import_trace(
    trace: str,
    cluster: tuple[str | Mapping[str, Any], ...],
    contention: tuple[Mapping[str, Any], ...],
    columns: tuple[str, ...],
    output: str | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> int:
    """Make an instance from TRACE, and report how each row was used.

    TRACE is a file, or - for stdin.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.api import inputs  # noqa: PLC0415

    if output is None and not as_json:
        output = "-"
    check_output(output, as_json=as_json)
    file, numbers = merged("--cluster", cluster)
    _, changes = merged("--contention", contention)
    contended = not changes.pop(NOTHING, False)
    share_stdin(trace, file, options["slurm_conf"], options["slurm_topology"])
    given = {key: value for key, value in options.items() if value is not None}
    counts = "servers", "gpus_per_server", "gpu_slices"
    given |= {key: numbers.pop(key) for key in counts if key in numbers}
    imported = inputs.import_trace(
        trace,
        columns=_mapping(columns),
        cluster=file,
        rates=numbers,
        contention=changes or contended,
        **given,
    )
    if output is not None:
        write_json(files.to_json(imported.instance), output, "instance")
    for line in (*imported.account.lines(), _sizes(imported.instance)):
        say(one_line(line))
    if as_json:
        answer_json(imported.account.summary())
    return 0


def _mapping(columns: tuple[str, ...]) -> dict[str, str]:
    """Parse `FIELD=COLUMN` into a dictionary of columns by field."""
    found: dict[str, str] = {}
    for text in columns:
        name, equals, column = text.partition("=")
        if not equals or not column:
            raise UsageError(f"--column {text!r}: FIELD=COLUMN is expected, such as gpus=num_gpus")
        if name in found:
            raise UsageError(f"--column {text!r}: {name} is given twice")
        found[name] = column
    return found


def _sizes(instance: Instance) -> str:
    """Describe the sizes of an instance in one line."""
    from rarmodel.counting import counted  # noqa: PLC0415

    cluster, time = instance.cluster, instance.time
    sizes = (
        counted(len(instance.jobs), "job"),
        counted(len(cluster.servers), "server"),
        counted(cluster.total_gpus, "GPU"),
        f"horizon {counted(time.horizon, 'slot')} of {time.slot_seconds:g} s"
        if time.horizon is not None
        else f"slots of {time.slot_seconds:g} s",
    )
    return f"{instance.name}: {', '.join(sizes)}"
