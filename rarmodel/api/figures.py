"""The figures of a simulation or a solve by which alternatives are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rarmodel.methods import Result
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance
from rarmodel.tabular import NONE, number
from rarmodel.verifier import verify

if TYPE_CHECKING:
    from rarmodel.online import Simulation

Values = Mapping[str, float | None]
"""Values of figures by name; None where there is none."""


class Figure(NamedTuple):
    """A figure.

    Attributes
    ----------
    name
        Its name in data.
    header
        Its name in tables and charts.
    unit
        Of its values; empty if they are numbers without one.
    form
        How a value is written; a share is written in percent.
    """

    name: str
    header: str
    unit: str
    form: str

    @property
    def is_share(self) -> bool:
        """Whether its values are shares of 1."""
        return self.form.endswith("%")

    def told(self, value: float | None) -> str:
        """A value in a table."""
        return number(value, self.form)

    def told_difference(self, difference: float | None, spread: float | None = None) -> str:
        """A difference, of shares in points of percent, with its spread."""
        if difference is None:
            return NONE
        scale, form = (100, ",.1f") if self.is_share else (1, self.form)
        told = format(scale * difference, f"+{form}").replace("-", "−")
        return told if spread is None else f"{told} ± {format(scale * spread, form)}"


MEAN_FLOW = Figure("mean_flow", "mean flow", "slots", ",.1f")
P95_FLOW = Figure("p95_flow", "p95 flow", "slots", ",.1f")
QUEUEING = Figure("mean_queueing", "queueing", "slots", ",.1f")
USE = Figure("utilisation", "use", "", ".1%")
LATE = Figure("late_jobs", "late jobs", "", ",.4g")
COST = Figure("cost", "cost", "", ",.2f")
PREEMPTIONS = Figure("preemptions", "preemptions", "", ",.4g")
MAKESPANS = Figure("makespan", "makespan", "slots", ",.6g")
BOUND = Figure("bound", "bound", "", ",.6g")
_BY_OBJECTIVE = {"cost": COST, "late-jobs": LATE, "makespan": MAKESPANS}


def of_simulation(simulation: Simulation) -> dict[Figure, float | None]:
    """Figures of a simulation; none has a value unless all jobs are complete."""
    one, proven = simulation.metrics, simulation.proven
    found: dict[Figure, float | None] = {
        MAKESPANS: one.makespan,
        MEAN_FLOW: one.mean_flow,
        P95_FLOW: one.p95_flow,
        QUEUEING: one.mean_queueing,
        USE: one.utilisation,
    }
    silent = simulation.says_nothing
    if "late-jobs" not in silent:
        found[LATE] = one.late_jobs
    if "cost" not in silent:
        cost = proven["cost"].value if "cost" in proven else None
        found[COST] = None if cost is None else float(cost)
    if "preemptions" not in silent:
        found[PREEMPTIONS] = simulation.preemptions
    return found if simulation.report is not None else dict.fromkeys(found)


def of_result(instance: Instance, result: Result) -> dict[Figure, float | None]:
    """Figures of a solve: its objectives, the bound on the first, and what else matters."""
    goals = {goal.name: goal.value for goal in result.objective}
    wanted = dict.fromkeys((*goals, MAKESPAN.name))
    if any(job.due is not None or job.deadline is not None for job in instance.jobs):
        wanted["late-jobs"] = None
    if instance.cluster.prices_per_gpu_hour is not None:
        wanted["cost"] = None
    values = dict(goals)
    report, schedule = result.report, result.schedule
    if report is not None and schedule is not None and wanted.keys() > goals.keys():
        others = tuple(name for name in wanted if name not in goals)
        asked = instance.model_copy(update={"objective": others})
        values |= verify(asked, schedule).objective or {}
    found = {
        _BY_OBJECTIVE.get(name, Figure(name.replace("-", "_"), name, "", ",.6g")): (
            None if values.get(name) is None else float(values[name] or 0)
        )
        for name in wanted
    }
    bound = result.objective[0].bound if result.objective else None
    found[BOUND] = None if bound is None else float(bound)
    flow = None if report is None else report.flow_times
    found[MEAN_FLOW] = flow and flow.mean
    found[P95_FLOW] = flow and flow.p95
    gpus = {server.name: server.gpus for server in instance.cluster.servers}
    used = None if report is None else report.utilisation
    found[USE] = None
    if used is not None:
        held = sum(part * gpus[name] for name, part in used.items())
        found[USE] = held / instance.cluster.total_gpus
    return found
