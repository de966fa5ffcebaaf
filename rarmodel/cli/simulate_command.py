"""The command `simulate`."""

from __future__ import annotations

import rich_click as click

from rarmodel.defaults import DEFAULT_PLACEMENT
from rarmodel.duration import duration
from rarmodel.errors import UsageError, one_line

from .commands import FINE, UNSOLVED
from .number_types import Whole
from .options import INSTANCE, JSON, SEED, objective_option
from .output_files import check_output, write_json
from .terminal import answer_json, forecast, say, say_first, show, show_lines


@click.command()
@INSTANCE
@click.option(
    "--policy",
    metavar="NAME[,NAME…]",
    required=True,
    callback=lambda _context, _option, names: [name.strip() for name in names.split(",")],
    help="Policy to play, or several for a table; `rarmodel list policies` lists them.",
)
@click.option(
    "--placement",
    metavar="NAME",
    default=DEFAULT_PLACEMENT,
    show_default=True,
    help="Where jobs are put that get GPUs; `rarmodel list placements` lists the rules. Or yours "
    "as package.module:Name.",
)
@click.option(
    "--round",
    "round_slots",
    type=Whole(1),
    metavar="SLOTS",
    help="Ask the policy every so many slots as well. By default policies with rounds choose.",
)
@click.option(
    "--reclaim/--no-reclaim",
    default=True,
    show_default=True,
    help="Let tenants take back GPUs up to what they are guaranteed, from those that hold more "
    "than theirs; or not.",
)
@objective_option("Objective of policies that solve the instance again, instead of the instance's")
@SEED
@click.option("--output", metavar="FILE", help="Write the schedule to this file; - for stdout.")
@JSON
def simulate(
    instance: str,
    policy: list[str],
    placement: str,
    round_slots: int | None,
    reclaim: bool,  # noqa: FBT001
    objective: str | list[str] | None,
    seed: int,
    output: str | None,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Play policies on the arriving jobs of INSTANCE, which they learn of as they arrive.

    rarmodel verifies each schedule, and compares it with proven bounds. A missed deadline gives
    exit code 1.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.api import simulating, sources  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    if output is not None and len(policy) > 1:
        raise UsageError("--output takes the schedule of one policy; leave the others out")
    check_output(output, as_json=as_json)
    problem = sources.load_instance(instance)
    with forecast() as report:
        results = simulating.simulate(
            problem,
            policy,
            placement=placement,
            round_slots=round_slots,
            reclaim=reclaim,
            objective=objective,
            seed=seed,
            progress=report,
        )
    if output is not None and results[0].schedule is not None:
        write_json(files.to_json(results[0].schedule), output, "schedule")
    if as_json:
        summaries = [one.summary() for one in results]
        answer_json(summaries if len(policy) > 1 else summaries[0])
    elif len(policy) > 1:
        title = f"{problem.name}: times in slots of {duration(problem.time.slot_seconds)}"
        show(tables.of_rows(title, [one.row() for one in results], tables.SIMULATED))
    elif output == "-":
        for line in tables.aligned(results[0].lines()):
            say(line)
    else:
        show_lines(results[0].lines())
    if len(policy) > 1 and not as_json:
        for note in dict.fromkeys(note for one in results for note in one.notes):
            say(f"{', '.join(one.policy for one in results if note in one.notes)}: {note}")
    for one in results:
        if not one.verified:
            say_first([f"{one.policy}: {one_line(reason)}" for reason in one.reasons], "reasons")
    return FINE if all(one.verified for one in results) else UNSOLVED
