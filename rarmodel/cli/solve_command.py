"""Command `solve`: find a schedule, and say what is proven about it."""

from __future__ import annotations

import rich_click as click

from rarmodel.defaults import AUTO, DEFAULT_METHOD, SEARCH_SECONDS
from rarmodel.errors import UsageError, one_line

from .commands import FINE, UNSOLVED
from .input_files import own_objectives, share_stdin
from .number_types import Whole
from .options import (
    BOUNDS,
    DATA,
    INSTANCE,
    JSON,
    MODEL_ONLY,
    NEIGHBOURHOODS,
    OBJECTIVE,
    POSITIVE,
    SOLVER_OPTIONS,
    START,
    horizon_instead,
    iterations_option,
    limits,
    scheduler_option,
)
from .output_files import check_output, say_file, write_json
from .terminal import answer_json, progress, say, show_lines


@click.command()
@INSTANCE
@click.option(
    "--method",
    metavar="NAME",
    help=f"Method to use; `rarmodel list methods` lists them. By default {DEFAULT_METHOD}.",
)
@click.option(
    "--formulation",
    metavar="NAME",
    help="Formulation to solve, instead of a method; `rarmodel list formulations` lists them.",
)
@click.option(
    "--solver",
    metavar="NAME",
    help="Solver of the formulation; `rarmodel list solvers` lists them. By default "
    f"{AUTO}: the installed solver that usually proves most.",
)
@SOLVER_OPTIONS
@OBJECTIVE
@DATA
@START
@BOUNDS
@NEIGHBOURHOODS
@MODEL_ONLY
@horizon_instead("the instance's")
@click.option(
    "--time-limit",
    type=POSITIVE,
    metavar="SECONDS",
    help="Stop after this time with the best schedule so far. By default there is no limit, but "
    f"search alone stops after {SEARCH_SECONDS:g} s.",
)
@iterations_option("schedule")
@click.option(
    "--patience",
    type=Whole(1),
    metavar="N",
    help="Stop search after N iterations without a better schedule or bound.",
)
@limits
@scheduler_option("search together instead of this machine")
@click.option("--output", metavar="FILE", help="Write the schedule to this file; - for stdout.")
@click.option(
    "--certificate",
    "certificate_to",
    metavar="FILE",
    help="Write what proves the lower bounds to this file, for `rarmodel check`.",
)
@JSON
@click.option(
    "--json-log", is_flag=True, help="Print JSON, with incumbents and bounds over time as its log."
)
def solve(
    instance: str,
    method: str | None,
    formulation: str | None,
    solver: str | None,
    objective: str | list[str] | None,
    solver_options: dict[str, str],
    data: str | None,
    start: str | None,
    bounds: tuple[str, ...],
    neighbourhoods: tuple[str, ...],
    model_only: bool,  # noqa: FBT001
    horizon: int | None,
    time_limit: float | None,
    iterations: int | None,
    patience: int | None,
    gap: float,
    threads: int | None,
    seed: int,
    log: bool,  # noqa: FBT001
    scheduler: str | None,
    output: str | None,
    certificate_to: str | None,
    as_json: bool,  # noqa: FBT001
    json_log: bool,  # noqa: FBT001
) -> int:
    """Find a schedule for INSTANCE: a file, - for stdin, or the name of a bundled instance.

    By default, search improves a schedule for at most 10 s and proves a lower bound.
    """
    from rarmodel import files  # noqa: PLC0415
    from rarmodel.api import solving, sources  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    as_json = as_json or json_log
    check_output(output, as_json=as_json)
    if certificate_to is not None:
        check_output(certificate_to)
        if horizon is not None:
            raise UsageError(
                "--certificate proves bounds of INSTANCE as it is; write --horizon as time.horizon "
                "into the instance"
            )
    share_stdin(instance, data, start)
    problem = sources.load_instance(instance)
    with progress() as (name, report):
        work = f"{instance}: {method or formulation or DEFAULT_METHOD}"
        limit = time_limit
        if (method or formulation or DEFAULT_METHOD) == DEFAULT_METHOD and not (
            time_limit or iterations or patience
        ):
            limit = SEARCH_SECONDS
        asked = sources.with_objective(problem, objective).objectives[0]
        own = own_objectives([] if formulation is None else [formulation])
        asked = next(iter(own.values()), asked)
        name(work, problem.time, limit=limit, objective=asked)
        result = solving.solve(
            problem,
            method=method,
            formulation=formulation,
            solver=solver,
            objective=objective,
            horizon=horizon,
            data=data,
            start=start,
            solver_options=solver_options,
            bounds=bounds,
            neighbourhoods=neighbourhoods,
            model_only=model_only,
            time_limit=time_limit,
            iterations=iterations,
            patience=patience,
            gap=gap,
            scheduler=scheduler,
            threads=threads,
            seed=seed,
            log=say if log else None,
            progress=report,
        )
    if output is not None and result.schedule is not None:
        write_json(files.to_json(result.schedule), output, "schedule")
    if certificate_to is not None:
        from rarmodel.api import certifying  # noqa: PLC0415

        certifying.certificate(problem, result, output=certificate_to)
        say_file(certificate_to, "certificate")
    if as_json:
        answer_json(result.summary(log=json_log))
    elif output == "-":
        for line in tables.aligned(result.lines()):
            say(line)
    else:
        show_lines(result.lines())
    if result.schedule is None:
        say(one_line(f"{result.instance}: no schedule: {result.status} ({result.stopped})"))
        for reason in result.reasons:
            say(one_line(reason))
        return UNSOLVED
    return FINE
