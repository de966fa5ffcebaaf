"""Draw and compare schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError

from .arguments import asked
from .sources import Schedules, Source, load_instance, load_schedules, with_objective

if TYPE_CHECKING:
    from altair import VConcatChart


@asked
def plot(
    instance: Source,
    schedules: Schedules,
    *,
    parts: Sequence[str] | None = None,
    objective: str | Sequence[str] | None = None,
    bound: bool = True,
    colour: str = "size",
) -> VConcatChart:
    """Draw schedules of an instance: a Gantt chart, rings on links and GPUs held, over time.

    Schedules that break constraints are drawn as far as possible, and marked.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedules
        One or several, from files or in memory.
    parts
        Parts to draw of each schedule: `gantt`, `contention`, `utilisation`; all by default.
    objective
        What schedules are compared by, instead of the instance's objective; see `solve`.
    bound
        Whether the chart tells the finding and the best proven bound.
    colour
        What the colour of a job says: its `size`, or its `tenant`.

    Returns
    -------
    VConcatChart
        A chart of Vega-Altair, which a notebook shows. `save` writes it as SVG, PNG, PDF or HTML.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If there is no schedule, a part does not exist, or Altair or vl-convert is not installed.
    """
    from rarmodel.drawing import Shown, draw_all, schedules_chart  # noqa: PLC0415 - few need it
    from rarmodel.drawing.extra import require_extra  # noqa: PLC0415

    require_extra()
    problem = with_objective(load_instance(instance), objective)
    found = load_schedules(schedules)
    if not found:
        raise UsageError("a plot needs at least one schedule")
    return schedules_chart(Shown.of(draw_all(problem, found), bound=bound, colour=colour), parts)


@asked
def report(
    instance: Source,
    schedules: Schedules,
    *,
    objective: str | Sequence[str] | None = None,
    charts: Mapping[str, Any] | None = None,
    colour: str = "size",
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
    charts
        Charts of your own, made with Altair, each by its heading: they stand at the end.
    colour
        What the colour of a job says: its `size`, or its `tenant`.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If there is no schedule, or Altair or vl-convert is not installed.
    """
    from rarmodel.drawing import report_page  # noqa: PLC0415 - few need it

    problem = with_objective(load_instance(instance), objective)
    return report_page(problem, load_schedules(schedules), charts, colour=colour)


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
    from rarmodel.drawing import Group, simulations_page  # noqa: PLC0415 - few need it
    from rarmodel.drawing.side_by_side import labels_of  # noqa: PLC0415

    problem = load_instance(instance)
    found = load_schedules(schedules)
    labels = labels_of(found)
    lines = {
        (label, label): [(problem, schedule)] for label, schedule in zip(labels, found, strict=True)
    }
    return simulations_page(problem.name, [Group(problem.name, lines)] if lines else [])
