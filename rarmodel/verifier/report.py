"""The verifier's report on a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rarmodel.errors import FEW
from rarmodel.model.objectives import MAKESPAN, Value, number, objective
from rarmodel.schema import SlotTime
from rarmodel.tabular import MOST_ROWS, NONE, frame, html_lines, html_rows

from .answered import Answered
from .flow_times import FlowTimes, Lateness, flow_times_of, lateness_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Violation:
    """One constraint that a schedule breaks.

    Attributes
    ----------
    constraint
        `assignment` (each job once, (3)), `index` (servers, GPUs and slots that exist), `gang`
        (1), `capacity` (2), `horizon` (reading 1) or `progress` (reading 3). In wider instances
        also `release`, `deadline`, `after`, `servers`, `type`, `spread`, `running`, `reservation`
        and `quota` (section 9), `memory` (section 15), `within` (section 18), `resource` (section
        19), and of interrupted jobs `preemption` and `completed` (sections 11 and 18). Of services
        `demand`, `accuracy`, `latency`, `replica`, `servers` and `type` (section 16).
    job
        The job or the service that breaks it.
    server
        The server, if the constraint concerns a single one.
    slot
        The first slot, if the constraint concerns slots.
    message
        The problem, with numbers.
    """

    constraint: str
    job: str
    server: str | None
    slot: int | None
    message: str


@dataclass(frozen=True)
class Ring:
    """State of one active job during a period.

    Attributes
    ----------
    contention
        p_j: the most rings, its own included, on a link that it uses; 0 within one server. (6)
    bandwidth_gbps
        B_j in Gbit/s.
    iteration_seconds
        τ_j in seconds. (8)
    speed
        φ_j in iterations per slot.
    """

    contention: int
    bandwidth_gbps: float
    iteration_seconds: float
    speed: int


@dataclass(frozen=True)
class Period:
    """A range of slots `start … end−1` in which the set of active jobs does not change.

    Attributes
    ----------
    start, end
        First slot, and the slot after the last.
    rings
        State of each active job, by job name.
    links
        Number of rings on each used link, p_ℓ, by the name of the link's lower end.
    """

    start: int
    end: int
    rings: Mapping[str, Ring]
    links: Mapping[str, int]


@dataclass(frozen=True)
class Report:
    """Verdict on a schedule, with the results of its simulation.

    Attributes
    ----------
    time
        The instance's slots: their length, and when slot 0 begins.
    feasible
        Whether the schedule keeps every constraint.
    violations
        Every broken constraint.
    completion
        Completion time T_j of each job in slots; None for a job that never completes or whose
        assignment cannot be carried out.
    makespan
        The latest completion in slots; None if a job has none.
    mean_completion
        Mean of the completion times in slots; None if a job has none.
    objective
        Values of the instance's objectives, by name, the most important first: whole numbers or
        exact fractions; None if a job does not complete.
    ties
        The same of what decides between schedules that are equal in the objectives: total
        completion and total links, unless the instance has a list of objectives.
    utilisation
        By server name, the share of its GPU slots up to the makespan that jobs hold; None without a
        makespan.
    periods
        Contention, bandwidth and speed of each job in each period. The sequence computes periods on
        demand: each loop, slice or index replays the simulation from the start.
    flow
        Flow time of each job in slots, from its release to its completion; None as `completion`.
    tardiness
        Slots past the due slot of each job that has one; None as `completion`.
    lost
        Iterations that interruptions cost each job that lost some.
    services
        By service, how many requests arrive, how many its replicas can answer, how well, and which
        replicas are ready, in each range of slots in which none of this changes.
    """

    time: SlotTime
    feasible: bool
    violations: tuple[Violation, ...]
    completion: Mapping[str, int | None] = field(repr=False)
    makespan: int | None
    mean_completion: float | None
    objective: Mapping[str, Value] | None
    utilisation: Mapping[str, float] | None = field(repr=False)
    periods: Sequence[Period] = field(repr=False)
    flow: Mapping[str, int | None] = field(default_factory=dict, repr=False)
    tardiness: Mapping[str, int | None] = field(default_factory=dict, repr=False)
    ties: Mapping[str, Value] | None = None
    lost: Mapping[str, int] = field(default_factory=dict, repr=False)
    services: Mapping[str, Sequence[Answered]] = field(default_factory=dict, repr=False)

    @property
    def worth(self) -> tuple[Value, ...]:
        """Values of the objectives, and then of what decides between equals; less is better."""
        return (*(self.objective or {}).values(), *(self.ties or {}).values())

    @property
    def flow_times(self) -> FlowTimes | None:
        """Mean, median, 95th percentile and greatest flow time; None if a job has none."""
        known = [flow for flow in self.flow.values() if flow is not None]
        return flow_times_of(known) if known and len(known) == len(self.flow) else None

    @property
    def lateness(self) -> Lateness | None:
        """How the due slots are kept; None if there are none, or a job with one has no end."""
        known = [slots for slots in self.tardiness.values() if slots is not None]
        return lateness_of(known) if known and len(known) == len(self.tardiness) else None

    @property
    def releases(self) -> Mapping[str, int]:
        """Release of each job that completes, if some job is released at another slot than 0."""
        found = {
            job: end - flow
            for job, flow in self.flow.items()
            if flow is not None and (end := self.completion[job]) is not None
        }
        return found if any(found.values()) else {}

    def lines(self) -> dict[str, str]:
        """The verdict as a dictionary of names and formatted values."""
        values = self._values()
        aims = values if MAKESPAN.name not in (self.objective or [MAKESPAN.name]) else {}
        found = {
            "feasible": "yes" if self.feasible else "no",
            **aims,
            "makespan": self.time.told(self.makespan),
        }
        if end := self.time.end(self.makespan):
            found["end"] = f"{end}"
        used = [f"{server} {part:.0%}" for server, part in (self.utilisation or {}).items()]
        if len(used) > FEW:
            by_use = sorted((part, server) for server, part in (self.utilisation or {}).items())
            (least, idlest), (most, busiest) = by_use[0], by_use[-1]
            used = [f"{least:.0%} ({idlest}) to {most:.0%} ({busiest})"]
        return found | {
            "mean completion": self.time.told(self.mean_completion, form=".2f"),
            **{name: told for name, told in values.items() if name not in aims},
            **self._waiting(),
            **({"lost work": self._lost()} if self.lost else {}),
            **{f"service {name}": self._told(found) for name, found in self.services.items()},
            "GPU utilisation": ", ".join(used) or NONE,
            "violations": str(len(self.violations)),
        }

    def _values(self) -> dict[str, str]:
        """Values of the objectives but the makespan, in words."""
        values = (self.objective or {}).items()
        others = ((name, value) for name, value in values if name != MAKESPAN.name)
        return {name: objective(name).told(value, self.time) for name, value in others}

    def _waiting(self) -> dict[str, str]:
        """Flow times if jobs are released at different slots, and how due slots are kept."""
        found = {}
        if self.releases and (flow := self.flow_times):
            middle = f"{flow.mean:,.2f} slots in the mean, {flow.median:,.1f} in the median"
            found["flow time"] = f"{middle}, 95% within {flow.p95:,.1f}, at most {flow.greatest:,}"
        if late := self.lateness:
            slots = f"{late.greatest:,} slot{'s' * (late.greatest != 1)}"
            most = f", by at most {slots}" if late.late else ""
            jobs = f"job{'s' * (late.due != 1)}"
            found["late"] = f"{late.late:,} of {late.due:,} {jobs} with a due slot{most}"
        return found

    def _lost(self) -> str:
        """Iterations that were lost, in words."""
        number, jobs = sum(self.lost.values()), len(self.lost)
        return f"{number:,} iteration{'s' * (number > 1)} of {jobs:,} job{'s' * (jobs > 1)}"

    def _told(self, periods: Sequence[Answered]) -> str:
        """What a service answers, in words."""
        slots = sum(one.end - one.start for one in periods)
        served = sum(one.end - one.start for one in periods if one.capacity >= one.demand)
        words = f"demand is reached in {served:,} of {slots:,} slots"
        if most := max((sum(one.ready.values()) for one in periods), default=0):
            words += f", with at most {most:,} replica{'s' * (most > 1)}"
        known = [one.accuracy for one in periods if one.accuracy is not None]
        return words + (f"; accuracy at least {float(min(known)):.4g}" if known else "")

    def to_frame(self) -> pd.DataFrame:
        """The completion times as a pandas data frame, one row per job.

        Flow times and tardiness are columns if the instance has releases and due slots.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(
            {"job": job, "completion": end, **self.waiting_of(job)}
            for job, end in self.completion.items()
        )

    def waiting_of(self, job: str) -> dict[str, int | None]:
        """Release, flow time and tardiness of a job, as far as the instance has such."""
        releases = self.releases
        found = {"release": releases.get(job), "flow": self.flow.get(job)} if releases else {}
        return found | ({"tardiness": self.tardiness.get(job)} if self.tardiness else {})

    def _repr_html_(self) -> str:
        broken = [asdict(violation) for violation in self.violations[:MOST_ROWS]]
        table = html_rows("Violations", broken, len(self.violations)) if broken else ""
        return html_lines("Report of the verifier", self.lines()) + table

    def _services(self) -> dict[str, Any]:
        """What services answer, as plain data."""
        return {name: [one.summary() for one in found] for name, found in self.services.items()}

    def summary(self) -> dict[str, Any]:
        """The verdict as plain data, without periods: the output of `verify --json`."""
        return {
            "feasible": self.feasible,
            "makespan": self.makespan,
            **self.time.by_clock(self.makespan),
            "mean_completion": self.mean_completion,
            "objective": None
            if self.objective is None
            else {name: number(value) for name, value in self.objective.items()},
            "ties": None
            if self.ties is None
            else {name: number(value) for name, value in self.ties.items()},
            "completion": dict(self.completion),
            **({"flow": dict(self.flow)} if self.releases else {}),
            **({"tardiness": dict(self.tardiness)} if self.tardiness else {}),
            **({"lost": dict(self.lost)} if self.lost else {}),
            **({"services": self._services()} if self.services else {}),
            "utilisation": None if self.utilisation is None else dict(self.utilisation),
            "violations": [asdict(violation) for violation in self.violations],
        }
