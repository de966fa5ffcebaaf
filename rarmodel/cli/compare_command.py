"""The command `compare`: methods and formulations beside one another."""

from __future__ import annotations

import rich_click as click

from rarmodel.defaults import AUTO, COMPARE_SECONDS
from rarmodel.errors import UsageError

from .commands import FINE, UNSOLVED
from .input_files import own_objectives, share_stdin
from .options import (
    BOUNDS,
    DATA,
    JSON,
    MODEL_ONLY,
    NEIGHBOURHOODS,
    OBJECTIVE,
    POSITIVE,
    SEVERAL,
    SOLVER_OPTIONS,
    STARTS,
    horizon_instead,
    limits,
)
from .output_files import (
    SOLVE_PARTS,
    check_rows,
    check_shown,
    picture_form,
    write_picture,
    write_rows,
    write_shown,
)
from .terminal import answer, answer_json, progress, say, show, show_text


@click.command()
@click.argument("instances", nargs=-1, required=True, metavar="INSTANCE...")
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help=f"Method to compare; `rarmodel list methods` lists them. {SEVERAL}",
)
@click.option(
    "--formulation",
    "formulations",
    multiple=True,
    metavar="NAME",
    help=f"Formulation to compare; `rarmodel list formulations` lists them. {SEVERAL}",
)
@click.option(
    "--solver",
    "solvers",
    multiple=True,
    metavar="NAME",
    help=f"Solver of the formulations; `rarmodel list solvers` lists them. By default {AUTO}: the "
    f"installed solver that usually proves most. {SEVERAL}",
)
@SOLVER_OPTIONS
@OBJECTIVE
@DATA
@STARTS
@BOUNDS
@NEIGHBOURHOODS
@MODEL_ONLY
@horizon_instead("each instance's")
@click.option(
    "--time-limit",
    type=POSITIVE,
    metavar="SECONDS",
    default=COMPARE_SECONDS,
    show_default=True,
    help="Stop each solve after this time, in seconds, with the best schedule so far.",
)
@limits
@click.option(
    "--csv",
    "rows_to",
    metavar="FILE",
    help="Write the rows to this CSV file, beside the tables; - for stdout, in place of the "
    "tables.",
)
@click.option(
    "--table",
    "table_to",
    metavar="FILE",
    help="Write the tables as they are shown to this file, as one table; its name ends in .tex "
    "(LaTeX with booktabs) or .csv.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Draw performance profiles and gaps over time to this .png, .svg or .pdf file.",
)
@SOLVE_PARTS
@JSON
def compare(
    instances: tuple[str, ...],
    methods: tuple[str, ...],
    formulations: tuple[str, ...],
    solvers: tuple[str, ...],
    solver_options: dict[str, str],
    objective: str | list[str] | None,
    data: str | None,
    starts: tuple[str, ...],
    bounds: tuple[str, ...],
    neighbourhoods: tuple[str, ...],
    model_only: bool,  # noqa: FBT001
    horizon: int | None,
    time_limit: float,
    gap: float,
    threads: int | None,
    seed: int,
    log: bool,  # noqa: FBT001
    rows_to: str | None,
    table_to: str | None,
    plot: str | None,
    solve_parts: tuple[str, ...],
    as_json: bool,  # noqa: FBT001
) -> int:
    """Compare methods and formulations on each INSTANCE.

    Without --method and --formulation, compare runs all methods, and all formulations that add
    nothing to the instance.
    """
    from rarmodel.api.comparing import compare as compared  # noqa: PLC0415

    from . import tables  # noqa: PLC0415

    share_stdin(*instances, data, *starts)
    check_rows(rows_to, as_json=as_json)
    check_shown(table_to)
    if solve_parts and plot is None:
        raise UsageError("--part is for --plot FILE")
    form = None if plot is None else picture_form(plot)
    asked = bool(methods or formulations)
    with progress() as (name, report):
        own = own_objectives(formulations)
        comparisons = compared(
            instances,
            methods=methods if asked else None,
            formulations=formulations if asked else None,
            solvers=solvers or None,
            objective=objective,
            horizon=horizon,
            data=data,
            start=starts or None,
            solver_options=solver_options,
            bounds=bounds,
            neighbourhoods=neighbourhoods,
            model_only=model_only,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            seed=seed,
            log=say if log else None,
            progress=report,
            each=lambda instance, part, number, total: name(
                f"{instance.name}: {part}, {number} of {total}",
                instance.time,
                limit=time_limit,
                objective=own.get(part.partition(" on ")[0], instance.objectives[0]),
            ),
        )
    rows = [row for comparison in comparisons for row in comparison.rows()]
    if rows_to is not None:
        write_rows([row for one in comparisons for row in one.frame_rows()], rows_to)
    if table_to is not None:
        write_shown(comparisons, table_to)
    if plot is not None and form is not None:
        write_picture(comparisons.plot(solve_parts or None), form, plot)
    if as_json:
        answer_json(rows)
    elif rows_to != "-":
        for i, comparison in enumerate(comparisons):
            if i > 0:
                answer("")
            columns = tables.COMPARED if comparison.about_makespan else tables.BY_OTHERS
            show(tables.of_rows(comparison.instance, comparison.table(), columns))
            for line in comparison.why_not_optimal():
                show_text(line)
    solved = all(comparison.best_makespan is not None for comparison in comparisons)
    return FINE if solved else UNSOLVED
