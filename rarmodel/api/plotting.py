"""Draw and compare schedules."""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.errors import UsageError

from .arguments import asked
from .sources import Schedules, Source, load_instance, load_schedules, with_objective


@asked
def plot(
    instance: Source,
    schedules: Schedules,
    *,
    form: str = "png",
    parts: Sequence[str] | None = None,
    objective: str | Sequence[str] | None = None,
    bound: bool = True,
) -> bytes:
    """Draw schedules of an instance: a Gantt chart, rings on links and GPUs held, over time.

    Schedules that break constraints are drawn as far as possible, and marked.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedules
        One or several, from files or in memory.
    form
        `png` or `svg`; or `html` for the interactive page of `report`.
    parts
        Parts to draw of each schedule: `gantt`, `contention`, `utilisation`; all by default.
    objective
        What schedules are compared by, instead of the instance's objective; see `solve`.
    bound
        Whether a picture tells the best proven bound; an HTML page always does.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If the form or part does not exist, or the plotting library is not installed.
    """
    if form == "html":
        if parts is not None:
            raise UsageError("parts are for png and svg; an HTML page has all parts")
        return report(instance, schedules, objective=objective).encode()
    if form not in {"png", "svg"}:
        raise UsageError(f"no form {form!r} of plots; choose one of png, svg, html")
    from rarmodel.reports import draw_all, picture, shown_bounds  # noqa: PLC0415 - few need it

    problem = with_objective(load_instance(instance), objective)
    drawings = draw_all(problem, load_schedules(schedules))
    told = shown_bounds(drawings) if bound else None
    return picture(drawings, told, form=form, parts=parts)


@asked
def report(
    instance: Source, schedules: Schedules, *, objective: str | Sequence[str] | None = None
) -> str:
    """Compare schedules of an instance in one HTML page that opens offline.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedules
        One or several, from files or in memory. Schedules that break constraints are marked.
    objective
        What schedules are compared by, instead of the instance's objective; see `solve`.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If Jinja2 or Bokeh is not installed.
    """
    from rarmodel.reports import report_page  # noqa: PLC0415 - few need it

    problem = with_objective(load_instance(instance), objective)
    return report_page(problem, load_schedules(schedules))


@asked
def report_simulations(instance: Source, schedules: Schedules) -> str:
    """Compare schedules of arriving jobs in one HTML page that opens offline.

    It shows flow times, the queue, GPUs held and contention over time, fairness, and flow times by
    job size and tenant.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedules
        One or several, from files or in memory; from simulations or from solves.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If some job of a schedule never completes, or the libraries are not installed.
    """
    from rarmodel.reports import Group, simulations_page  # noqa: PLC0415 - few need it
    from rarmodel.reports.comparison import distinct  # noqa: PLC0415

    problem = load_instance(instance)
    found = load_schedules(schedules)
    labels = distinct([schedule.method for schedule in found])
    lines = {
        (label, label): [(problem, schedule)] for label, schedule in zip(labels, found, strict=True)
    }
    return simulations_page(problem.name, [Group(problem.name, lines)] if lines else [])
