"""The commands of `rarmodel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from rarmodel.defaults import (
    AUDIT_SECONDS,
    AUTO,
)
from rarmodel.kinds import LISTED

from .former_options import rewritten
from .input_files import read_schedules, share_stdin
from .number_types import Whole
from .options import (
    DATA,
    INSTANCE,
    JSON,
    OBJECTIVE,
    POSITIVE,
    THREADS,
    objective_option,
)
from .output_files import say_file
from .terminal import (
    answer,
    answer_json,
    progress,
    say,
    say_first,
    show,
    show_lines,
    show_text,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

FINE, UNSOLVED, BAD_INPUT = 0, 1, 2
"""Exit codes."""


class Commands(click.RichGroup):
    """The commands, and for the name of a kind of parts a word on `list`, which lists them."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of that name."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0] in LISTED:
                hint = f"no command {args[0]!r}; was 'list {args[0]}' meant?"
                raise click.UsageError(hint, ctx) from error
            raise
        return name, command, rewritten(name or "", rest)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Schedule ring-all-reduce training jobs on a shared GPU cluster.",
    no_args_is_help=False,
)
@click.version_option(package_name="rarmodel")
def rarmodel() -> None:
    """The group of all commands."""


@rarmodel.command()
@INSTANCE
@click.argument("schedule")
@objective_option("Objective to compute instead of the instance's")
@JSON
def verify(
    instance: str,
    schedule: str,
    objective: str | list[str] | None,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Check SCHEDULE against INSTANCE and compute the jobs' completion times.

    SCHEDULE is a file, or - for stdin.
    """
    from rarmodel.api import verification  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    problem, (claimed,) = read_schedules(instance, [schedule])
    report = verification.verify(problem, claimed, objective=objective)
    if as_json:
        answer_json(report.summary())
    else:
        show_lines(report.lines())
        if report.violations:
            answer("")
            show(tables.violations(report))
    return FINE if report.feasible else UNSOLVED


@rarmodel.command()
@INSTANCE
@click.option(
    "--schedule",
    metavar="FILE",
    help="Schedule to audit; - for stdin. By default rarmodel audits the schedule of sjf-bco.",
)
@click.option(
    "--solver",
    metavar="NAME",
    help="Solver for the bounds; `rarmodel list solvers` lists them. By default "
    f"{AUTO}: the installed solver that usually proves most.",
)
@click.option(
    "--time-limit",
    type=POSITIVE,
    metavar="SECONDS",
    default=AUDIT_SECONDS,
    show_default=True,
    help="Time limit for the bounds, in seconds; it excludes the run of sjf-bco.",
)
@THREADS
@JSON
def audit(
    instance: str,
    schedule: str | None,
    solver: str | None,
    time_limit: float,
    threads: int | None,
    as_json: bool,  # noqa: FBT001
) -> int:
    """Check the paper's lemmas and theorem on one schedule of INSTANCE.

    Exit code 0 does not mean that every claim holds; the table says which do.
    """
    from rarmodel.api import verification  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    problem, claimed = read_schedules(instance, [] if schedule is None else [schedule])
    for one in claimed:
        report = verification.verify(problem, one)
        if not report.feasible:
            broken = [f"{schedule}: {v.constraint}: {v.message}" for v in report.violations]
            say_first(broken, "violations")
            return UNSOLVED
    with progress() as (name, tell):
        name(f"{instance}: audit", problem.time, limit=time_limit)
        outcome = verification.audit(
            problem,
            next(iter(claimed), None),
            solver=solver,
            time_limit=time_limit,
            threads=threads,
            progress=tell,
        )
    if as_json:
        answer_json(outcome.summary())
    else:
        show_lines(tables.audit(outcome))
        answer("")
        show(tables.claims(outcome))
    return FINE


@rarmodel.command()
@click.argument("kind", type=click.Choice(["instance", "schedule", "certificate", "library"]))
def schema(kind: str) -> int:
    """Print the JSON Schema of a file format, for editors and validators."""
    from rarmodel.instances import Library  # noqa: PLC0415
    from rarmodel.schema import Instance, Schedule  # noqa: PLC0415
    from rarmodel.schema.certificate import Certificate  # noqa: PLC0415

    formats: dict[str, type[BaseModel]] = {
        "instance": Instance,
        "schedule": Schedule,
        "certificate": Certificate,
        "library": Library,
    }
    answer_json(formats[kind].model_json_schema())
    return FINE


@rarmodel.command()
@INSTANCE
@click.option(
    "--formulation",
    metavar="NAME",
    required=True,
    help="Formulation of the model; `rarmodel list formulations` lists them.",
)
@click.option(
    "--output",
    metavar="FILE",
    required=True,
    help="Write the model to this file; its name ends in .lp, .mps or .nl.",
)
@click.option(
    "--horizon",
    type=Whole(1),
    metavar="SLOTS",
    help="Number of slots of the model. By default the best makespan of the heuristics, or the "
    "instance's horizon if the formulation adds constraints or an objective.",
)
@OBJECTIVE
@DATA
@click.option(
    "--lower-bound/--no-lower-bound",
    default=True,
    show_default=True,
    help="Put rarmodel's lower bound on the makespan into the model. Without it, LP relaxation and "
    "duals are those of the formulation itself.",
)
@JSON
def formulate(
    instance: str,
    formulation: str,
    output: str,
    horizon: int | None,
    objective: str | list[str] | None,
    data: str | None,
    lower_bound: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> int:
    """Write the Pyomo model of INSTANCE to a file, with readable names, and print its size."""
    from rarmodel.api import formulating  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    share_stdin(instance, data)
    _, size = formulating.formulate(
        instance,
        formulation,
        output=output,
        horizon=horizon,
        objective=objective,
        data=data,
        lower_bound=lower_bound,
    )
    say_file(output, "model")
    if as_json:
        answer_json(size.summary())
    else:
        show_lines(tables.model_size(size))
    return FINE


@rarmodel.command()
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


@rarmodel.command()
@INSTANCE
@click.option(
    "--list-jobs",
    "jobs",
    is_flag=True,
    help="Also list each job, with its execution times by placement.",
)
@JSON
def describe(instance: str, jobs: bool, as_json: bool) -> int:  # noqa: FBT001
    """Summarise INSTANCE without solving it: sizes, load, execution times, lower bounds."""
    from rarmodel.api import library_listing  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    found = library_listing.describe(instance)
    if as_json:
        answer_json(found.summary(jobs=jobs))
        return FINE
    show_lines(found.lines())
    each = list(found.job_rows()) if jobs else []
    for rows in (found.use_rows(), found.size_rows(), each, found.bound_rows()):
        if rows:
            answer("")
            show(tables.of_rows(None, rows, tables.DESCRIBED))
    return FINE


@rarmodel.command("list")
@click.argument("kind", required=False, metavar="[KIND]")
@JSON
def list_parts(kind: str | None, as_json: bool) -> int:  # noqa: FBT001
    """List the parts of a KIND, with what each is for: methods, formulations, solvers and others.

    Without KIND it lists the kinds.
    """
    from rarmodel.api import listing  # noqa: PLC0415

    from .part_tables import PARTS  # noqa: PLC0415

    rows = listing.parts(kind)
    if as_json:
        answer_json(rows)
    else:
        show(PARTS[kind](rows))
    return FINE
