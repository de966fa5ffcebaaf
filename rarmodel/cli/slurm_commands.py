"""The commands about a live Slurm queue: `slurm read`, `plan`, `apply` and `watch`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from rarmodel.defaults import SEARCH_SECONDS
from rarmodel.errors import UsageError, one_line

from .commands import FINE, UNSOLVED
from .input_files import share_stdin
from .named_numbers import merged
from .number_types import Number, Whole
from .options import (
    JSON,
    POSITIVE,
    SEED,
    SEVERAL,
    SLOT_LENGTH,
    THREADS,
    iterations_option,
    objective_option,
    together,
)
from .output_files import check_output, picture_kind, say_written, write_json
from .queue_readings import OUTPUT, RATES_OF_CLUSTER, answer_reading, default_seconds_option
from .report_commands import FORMS
from .terminal import (
    answer,
    answer_json,
    answer_text,
    progress,
    say,
    say_first,
    show,
    show_lines,
    show_text,
)

if TYPE_CHECKING:
    from rarmodel.slurm import Applied, Plan


CHOICES = (
    *("partition", "profiles", "cluster", "slot_seconds", "default_seconds"),
    *("whose", "named", "operator", "gpu_speeds"),
)
LIMITS = ("method", "formulation", "time_limit", "iterations", "threads", "seed")

FROM = click.option(
    "--from",
    "source",
    metavar="DIR",
    help="Read Slurm's recorded outputs from this folder. By default rarmodel asks Slurm.",
)


READING = together(
    click.option(
        "--partition", metavar="NAME", help="Read only this partition. By default all are read."
    ),
    click.option(
        "--profiles",
        metavar="FILE",
        help="JSON or YAML file with profiles of jobs by name, user, account or comment.",
    ),
    click.option(
        "--whose",
        type=click.Choice(["mine", "all"]),
        help="Plan the jobs that rarmodel may touch (mine), around the others, or all waiting "
        "jobs. By default mine, if there are any.",
    ),
    click.option(
        "--job",
        "named",
        multiple=True,
        metavar="ID",
        help=f"Held job that rarmodel may touch although its comment does not say so. {SEVERAL}",
    ),
    click.option(
        "--operator",
        is_flag=True,
        help="You are an operator of Slurm: plan and change the jobs of other users too.",
    ),
    SLOT_LENGTH,
    default_seconds_option("profile, earlier runs and time limit"),
    RATES_OF_CLUSTER,
    click.option(
        "--gpu-speed",
        "gpu_speeds",
        metavar="TYPE=FACTOR,…",
        help="How fast GPUs are in comparison, such as h100=2,v100=0.5. Without it a ring of "
        "several nodes stays on one type.",
    ),
)
SOLVING = together(
    click.option(
        "--method",
        metavar="NAME",
        help="Method of the plan; `rarmodel list methods` lists them. By default search.",
    ),
    click.option(
        "--formulation",
        metavar="NAME",
        help="Formulation to solve, instead of a method; `rarmodel list formulations` lists them.",
    ),
    click.option(
        "--time-limit",
        type=POSITIVE,
        metavar="SECONDS",
        help=f"Stop after this time with the best plan so far. By default {SEARCH_SECONDS:g} s.",
    ),
    iterations_option("plan"),
    SEED,
    THREADS,
)


def _choices(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a reading, taken out of all options."""
    found = {name: options.pop(name) for name in CHOICES}
    file, rates = merged("--cluster", found["cluster"])
    return found | {"cluster": file, "rates": rates, "gpu_speeds": _speeds(found["gpu_speeds"])}


def _speeds(text: str | None) -> dict[str, float]:
    """Factors by type of GPU."""
    found: dict[str, float] = {}
    for part in text.split(",") if text else ():
        kind, _, factor = (word.strip() for word in part.partition("="))
        if not kind or kind in found or not re.fullmatch(r"\d+(\.\d+)?", factor):
            told = "a factor for each type is expected, such as h100=2,v100=0.5"
            raise UsageError(f"--gpu-speed {text!r}: {told}")
        found[kind] = float(factor)
    return found


def _limits(options: dict[str, Any]) -> dict[str, Any]:
    found = {name: options.pop(name) for name in LIMITS}
    return {name: value for name, value in found.items() if value is not None}


@click.group(no_args_is_help=False)
def slurm() -> None:
    """Plan the queue of a Slurm cluster, and hand the plan back."""


@slurm.command()
@FROM
@click.option(
    "--record", "record_to", metavar="DIR", help="Keep Slurm's outputs in this folder, for --from."
)
@READING
@objective_option("Objective of the instance")
@OUTPUT
@JSON
def read(
    source: str | None,
    record_to: str | None,
    objective: str | list[str] | None,
    output: str | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> int:
    """Read the queue as an instance, and say how each job was used."""
    from rarmodel import slurm as room  # noqa: PLC0415

    check_output(output, as_json=as_json)
    reading = room.read(source, record_to=record_to, objective=objective, **_choices(options))
    answer_reading(reading, output, as_json=as_json)
    return FINE


@slurm.command()
@click.argument("instance", required=False)
@FROM
@READING
@objective_option("Objective to minimise instead of the instance's")
@SOLVING
@click.option("--output", metavar="FILE", help="Write the plan to this file; - for stdout.")
@click.option(
    "--plot",
    "picture",
    metavar="FILE",
    help="Draw Slurm's own order and the plan; the name ends in .png, .svg, .pdf or .html.",
)
@JSON
def plan(
    instance: str | None,
    source: str | None,
    objective: str | list[str] | None,
    output: str | None,
    picture: str | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> int:
    """Plan INSTANCE, or by default the queue as it is now, beside Slurm's own order.

    INSTANCE is a file of `rarmodel slurm read`, or - for stdin.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel import slurm as room  # noqa: PLC0415
    from rarmodel.api import plotting, sources  # noqa: PLC0415

    check_output(output, as_json=as_json)
    form = _form(picture)
    share_stdin(instance)
    choices, limits = _choices(options), _limits(options)
    if instance is not None and source is not None:
        raise UsageError("INSTANCE and --from exclude each other; choose one")
    problem = room.read(source, **choices) if instance is None else sources.load_instance(instance)
    queue = problem.instance if isinstance(problem, room.Reading) else problem
    if form == "html" and (caveats := room.caveats_of(queue)):
        raise UsageError(
            f"{picture}: a page tells a gap, and this plan claims none: {caveats[0]}; "
            "name a file that ends in .png, .svg or .pdf"
        )
    with progress() as (name, report):
        by_default = None if "iterations" in limits else SEARCH_SECONDS
        name(
            "planning …",
            limit=limits.get("time_limit", by_default),
            objective=sources.with_objective(queue, objective).objectives[0],
        )
        made = room.plan(problem, objective=objective, progress=report, **limits)
    if output is not None:
        write_json(files.to_json(made.schedule), output, "plan")
    if picture is not None:
        drawn_instance, shown = made.named()
        colour = "tenant" if len(made.instance.tenants) > 1 else "size"
        if form == "html":
            drawn = plotting.report(drawn_instance, shown, colour=colour).encode()
        else:
            from rarmodel.drawing import headed, image_of  # noqa: PLC0415 - an extra

            chart = plotting.plot(
                drawn_instance, shown, parts=["gantt"], bound=not made.caveats, colour=colour
            )
            drawn = image_of(headed(chart, made.headline()), form)
        files.write_bytes(picture, drawn)
        say_written(picture, picture_kind(form), len(drawn))
    if as_json:
        answer_json(made.summary())
    elif output != "-":
        _show_plan(made)
    return FINE


def _form(picture: str | None) -> str:
    """The form of a picture, by the end of its name."""
    if picture is None:
        return ""
    from rarmodel import files  # noqa: PLC0415

    form = Path(picture).suffix[1:].lower()
    if form not in FORMS:
        raise UsageError(f"{picture}: a file that ends in .png, .svg, .pdf or .html is expected")
    files.check_writable(picture)
    from rarmodel.drawing.extra import require_extra  # noqa: PLC0415 - an extra

    require_extra()
    return form


def _show_plan(made: Plan) -> None:
    from . import tables  # noqa: PLC0415

    for line in made.head():
        show_text(line)
    show(tables.of_rows(None, made.rows(), tables.PLANNED))
    answer("")
    show_lines(made.lines())


@slurm.command("apply")
@click.argument("schedule")
@FROM
@click.option(
    "--apply",
    "carry_out",
    is_flag=True,
    help="Change the jobs. Without this option rarmodel only writes a script to review.",
)
@click.option("--script", metavar="FILE", help="Write the script here; by default to stdout.")
@click.option(
    "--undo",
    metavar="FILE",
    help="Write the way back here: a script that holds the jobs again as they were. By default "
    "beside the script, or with --apply beside SCHEDULE, in a new file ….undo.sh.",
)
@click.option("--replan", is_flag=True, help="If the plan is stale, plan again.")
@READING
@objective_option("Objective of a new plan, with --replan")
@SOLVING
@JSON
def apply_plan(
    schedule: str,
    source: str | None,
    carry_out: bool,  # noqa: FBT001
    script: str | None,
    undo: str | None,
    replan: bool,  # noqa: FBT001
    objective: str | list[str] | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> int:
    """Hand the plan SCHEDULE back to Slurm: a script to review, or with --apply the changes.

    Only held jobs whose comment begins with `rarmodel`, or which --job names, are touched. Give
    the options with which the queue was read for the plan.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel import slurm as room  # noqa: PLC0415

    check_output(script, as_json=as_json)
    choices, limits = _choices(options), _limits(options)
    if undo is None and (carry_out or script not in {None, "-"}):
        undo = _beside(str(script) if script not in {None, "-"} else schedule)
    if undo is not None:
        files.check_writable(undo)
    try:
        applied = room.apply(
            schedule,
            carry_out=carry_out,
            undo=undo,
            replan=replan,
            source=source,
            tell=say,
            limits=limits,
            objective=objective,
            **choices,
        )
    except room.StaleError as error:
        say("the plan is stale; --replan plans again")
        say_first([one_line(change) for change in error.changes], "changes")
        return UNSOLVED
    if script not in {None, "-"}:
        files.write_text(str(script), applied.script())
    if as_json:
        answer_json(applied.summary() | {"undo": undo})
    else:
        if undo is not None:
            say(one_line(f"the way back: {undo}"))
        _show_applied(applied, carried_out=carry_out, printed=script in {None, "-"})
    return UNSOLVED if applied.differences else FINE


def _beside(path: str) -> str:
    """A new file for the way back, beside another file: one that exists may still be needed."""
    at = Path("plan.sh" if path == "-" else path)
    found, number = at.with_name(f"{at.stem}.undo.sh"), 1
    while found.exists():
        number += 1
        found = at.with_name(f"{at.stem}.undo-{number}.sh")
    return str(found)


def _show_applied(applied: Applied, *, carried_out: bool, printed: bool) -> None:
    for line in applied.lines():
        say(one_line(line))
    if printed and not carried_out:
        answer_text(applied.script().rstrip("\n"))
    if carried_out:
        say_first([one_line(one) for one in applied.differences], "differences")
        done, refused = len(applied.commands), len(applied.differences)
        answer(f"{done} commands, {refused} differences")


@slurm.command()
@click.option(
    "--every",
    metavar="DURATION",
    default="60s",
    show_default=True,
    help="Time between two looks at the queue, such as 30s or 5min.",
)
@click.option(
    "--threshold",
    type=Number(0, 1),
    metavar="PART",
    default=0.05,
    show_default=True,
    help="Change a plan that still holds only for a gain above this part of its value.",
)
@click.option(
    "--most",
    type=Whole(1),
    metavar="N",
    default=50,
    show_default=True,
    help="Hand back at most N jobs at one look.",
)
@click.option(
    "--looks",
    type=Whole(1),
    metavar="N",
    help="End after N looks. By default rarmodel looks until you interrupt it.",
)
@READING
@objective_option("Objective to minimise")
@SOLVING
@click.option("--log", metavar="FILE", help="Append what is printed to this file, too.")
@JSON
def watch(
    every: str,
    threshold: float,
    most: int,
    looks: int | None,
    objective: str | list[str] | None,
    log: str | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> int:
    """Plan the queue again as it changes, and hand back each job shortly before its start.

    Each command is printed before it runs. Ctrl-C ends the watch; held jobs stay held. With --json
    each line is an object with `time` and `text`.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel import slurm as room  # noqa: PLC0415

    choices, limits = _choices(options), _limits(options)
    if log is not None:
        files.check_writable(log)

    def tell(line: str) -> None:
        """Print a line, which begins with its time."""
        moment, _, text = line.partition(" ")
        told = json.dumps({"time": moment, "text": text}) if as_json else line
        answer(told)
        if log is not None:
            with Path(log).open("a", encoding="utf-8") as there:
                there.write(f"{told}\n")

    room.watch(
        every=_seconds(every),
        threshold=threshold,
        most=most,
        looks=looks,
        tell=tell,
        limits=limits,
        objective=objective,
        **choices,
    )
    return FINE


def _seconds(text: str) -> float:
    """A length of time such as `90`, `60s` or `5min` in seconds."""
    from rarmodel.workloads.table_cells import UNITS  # noqa: PLC0415 - loads slowly

    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|min|h)?", text)
    if not found or not float(found[1]):
        raise UsageError(f"--every {text!r}: a length of time such as 30s or 5min is expected")
    return float(found[1]) * UNITS[found[2] or "s"]
