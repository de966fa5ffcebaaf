"""The result of a simulation: a verified schedule, figures, and the distance from proven bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rarmodel.counting import nouns
from rarmodel.errors import listed
from rarmodel.model.interruptions import interrupts
from rarmodel.model.objectives import MAKESPAN, Value, number, objective
from rarmodel.schema import Instance, Schedule, SlotTime
from rarmodel.tabular import NONE, html_lines
from rarmodel.tabular import number as told
from rarmodel.verifier import Report

from .group_metrics import GroupMetrics
from .metrics import Metrics
from .service_figures import ServiceFigures


@dataclass(frozen=True)
class Proven:
    """What is proven about an objective, for any policy that knows everything from the start.

    Attributes
    ----------
    value
        Value of the simulated schedule; None if some job is not complete.
    bound
        No schedule has less.
    assumes
        Name of the bound, and what it assumes.
    """

    value: Value | None
    bound: Value
    assumes: str

    @property
    def ratio(self) -> float | None:
        """Value by bound; 1 if both are 0, None if the bound alone is, or there is no value."""
        if self.value is None:
            return None
        if self.bound == 0:
            return 1.0 if self.value == 0 else None
        return float(self.value / self.bound)


@dataclass(frozen=True)
class Simulation:
    """The result of a policy on the arriving jobs of an instance.

    Attributes
    ----------
    instance, policy, placement
        Their names.
    time
        The instance's slots.
    schedule, report
        The schedule, and the verifier's report on it; None if some job is not complete.
    metrics
        The figures; of an interrupted simulation those so far.
    preemptions
        How often a job was interrupted before its completion.
    decisions
        How often the policy was asked.
    seconds
        Computing time.
    proven
        What is proven, by objective; nothing if the user interrupted the simulation.
    unfinished
        Names of jobs that are not complete.
    stopped
        Why it stopped, in words.
    causes
        Where jobs are not complete: which jobs, and what keeps each of them from it, a line each.
    notes
        What one should know of the result, though nothing is wrong.
    tenants
        Figures by name of a tenant, each with all tenants below it.
    priorities
        Figures by priority, the greatest first, if there are several.
    services
        Figures by name of a service; nothing if some job is not complete.
    says_nothing
        Figures that say nothing of this instance, so `lines` and `row` leave them out; see
        `figures_without_meaning`.
    """

    instance: str
    policy: str
    placement: str
    time: SlotTime
    schedule: Schedule | None = field(repr=False)
    report: Report | None = field(repr=False)
    metrics: Metrics
    preemptions: int
    decisions: int
    seconds: float
    proven: Mapping[str, Proven] = field(repr=False)
    unfinished: tuple[str, ...] = ()
    stopped: str = "finished"
    causes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tenants: Mapping[str, GroupMetrics] = field(default_factory=dict, repr=False)
    priorities: Mapping[int, GroupMetrics] = field(default_factory=dict, repr=False)
    services: Mapping[str, ServiceFigures] = field(default_factory=dict, repr=False)
    says_nothing: frozenset[str] = frozenset()

    @property
    def verified(self) -> bool:
        """Whether all jobs are complete, and the schedule keeps every constraint."""
        return self.report is not None and self.report.feasible

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is wrong if it is not verified, a line each."""
        if self.report is None:
            left = f"{nouns(len(self.unfinished), 'job')} {listed(self.unfinished)}"
            return (f"{self.stopped}; not complete: {left}", *self.causes)
        return tuple(one.message for one in self.report.violations)

    def lines(self) -> dict[str, str]:
        """The result as a dictionary of names and formatted values."""
        one, slots = self.metrics, self.time.told
        percentiles = f"{told(one.p95_flow, ',.1f')}, {told(one.p99_flow, ',.1f')}"
        found = {
            "instance": self.instance,
            "policy": f"{self.policy}, placement {self.placement}",
            "verified": "yes" if self.verified else "no",
            "makespan": slots(one.makespan),
            "mean flow": slots(one.mean_flow, form=",.2f"),
            "median flow": slots(one.median_flow, form=",.1f"),
            "95th and 99th percentile": percentiles
            + (" slots" if one.p95_flow is not None else ""),
            "greatest flow": slots(one.max_flow),
            "mean queueing": slots(one.mean_queueing, form=",.2f"),
            "utilisation": told(one.utilisation, ".1%"),
            "preemptions": f"{self.preemptions:,}, {one.restore_slots:,} slots of restoration",
            **({"lost work": self._lost()} if one.lost_iterations else {}),
            "greatest stretch": told(one.max_stretch, ",.2f"),
            "finish-time fairness": told(one.finish_time_fairness, ",.2f"),
            "decisions": f"{self.decisions:,}",
            "seconds": f"{self.seconds:.2f}",
            **{f"priority {p}": self._told(one) for p, one in self.priorities.items()},
            **{f"service {name}": one.told() for name, one in self.services.items()},
            **({"note": "; ".join(self.notes)} if self.notes else {}),
        }
        for name, proven in self.proven.items():
            if proven.ratio is not None and proven.value is not None:
                value = objective(name).told(proven.value, self.time)
                best = proven.ratio <= 1
                limit = "the best" if best else f"at most {proven.ratio:.3f} times the best"
                found[name] = f"{value}, {limit}"
        return {name: text for name, text in found.items() if name not in self.says_nothing}

    def _told(self, group: GroupMetrics) -> str:
        """Figures of a group of jobs in a line."""
        flow = self.time.told(group.mean_flow, form=",.2f")
        return f"{group.jobs:,} job{'s' * (group.jobs > 1)}, mean flow {flow}"

    def _lost(self) -> str:
        """What interruptions cost, in words."""
        one = self.metrics
        number = f"{one.lost_iterations:,} iteration{'s' * (one.lost_iterations > 1)}"
        return f"{number}, {one.lost_slots:,.1f} slots of work"

    def row(self) -> dict[str, str]:
        """The result as a row of a table of policies."""
        one = self.metrics
        flow, most = self.proven.get("total-flow"), self.proven.get(MAKESPAN.name)
        found = {
            "policy": self.policy,
            "verified": "yes" if self.verified else "no",
            "makespan": told(one.makespan, ","),
            "mean flow": told(one.mean_flow, ",.1f"),
            "median": told(one.median_flow, ",.1f"),
            "p95": told(one.p95_flow, ",.1f"),
            "p99": told(one.p99_flow, ",.1f"),
            "queueing": told(one.mean_queueing, ",.1f"),
            "use": told(one.utilisation, ".1%"),
            "preemptions": f"{self.preemptions:,}",
            "fairness": told(one.finish_time_fairness, ",.2f"),
            "makespan / bound": NONE if most is None else told(most.ratio, ".3f"),
            "flow / bound": NONE if flow is None else told(flow.ratio, ".3f"),
            "seconds": f"{self.seconds:.2f}",
        }
        return {name: text for name, text in found.items() if name not in self.says_nothing}

    def summary(self) -> dict[str, Any]:
        """The result as plain data: the output of `simulate --json`."""
        one, proven = self.metrics, self.proven
        return {
            "policy": self.policy,
            "verified": self.verified,
            "makespan": one.makespan,
            "mean_flow": one.mean_flow,
            "median_flow": one.median_flow,
            "p95_flow": one.p95_flow,
            "p99_flow": one.p99_flow,
            "max_flow": one.max_flow,
            "mean_queueing": one.mean_queueing,
            "utilisation": one.utilisation,
            "preemptions": self.preemptions,
            "restore_slots": one.restore_slots,
            "lost_iterations": one.lost_iterations,
            "lost_slots": one.lost_slots,
            "late_jobs": one.late_jobs,
            "total_tardiness": one.total_tardiness,
            "max_stretch": one.max_stretch,
            "finish_time_fairness": one.finish_time_fairness,
            "seconds": self.seconds,
            "decisions": self.decisions,
            "bounds": {name: number(bound.bound) for name, bound in proven.items()},
            "bounds_assume": {name: bound.assumes for name, bound in proven.items()},
            "ratios": {name: bound.ratio for name, bound in proven.items()},
            "stopped": self.stopped,
            "unfinished": list(self.unfinished),
            "causes": list(self.causes),
            "notes": list(self.notes),
            "tenants": {name: one.summary() for name, one in self.tenants.items()},
            "priorities": {str(p): one.summary() for p, one in self.priorities.items()},
            "services": {name: one.summary() for name, one in self.services.items()},
        }

    def _repr_html_(self) -> str:
        return html_lines(f"Simulation of {self.policy}", self.lines())


def figures_without_meaning(instance: Instance) -> frozenset[str]:
    """Figures that say nothing of an instance, unless they are its objectives.

    The cost without prices, lateness without due slots and deadlines, and preemptions where no job
    can be interrupted.
    """
    found = set[str]()
    if instance.cluster.prices_per_gpu_hour is None:
        found.add("cost")
    if all(job.due is None and job.deadline is None for job in instance.jobs):
        found |= {"late-jobs", "max-tardiness", "total-tardiness"}
    if not interrupts(instance):
        found.add("preemptions")
    return frozenset(found) - set(instance.objectives)
