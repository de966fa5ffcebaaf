"""The verifier's report on a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rarmodel.errors import FEW
from rarmodel.model.objectives import MAKESPAN, Value, number, objective
from rarmodel.schema import SlotTime
from rarmodel.tabular import MOST_ROWS, NONE, frame, html_lines, html_rows

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
        and `quota` (section 9).
    job
        The job that breaks it.
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
    utilisation
        By server name, the share of its GPU slots up to the makespan that jobs hold; None without a
        makespan.
    periods
        Contention, bandwidth and speed of each job in each period. The sequence computes periods on
        demand: each loop, slice or index replays the simulation from the start.
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

    def lines(self) -> dict[str, str]:
        """The verdict as a dictionary of names and formatted values."""
        found = {
            "feasible": "yes" if self.feasible else "no",
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
            **self._values(),
            "GPU utilisation": ", ".join(used) or NONE,
            "violations": str(len(self.violations)),
        }

    def _values(self) -> dict[str, str]:
        """Values of the objectives but the makespan, in words."""
        values = (self.objective or {}).items()
        others = ((name, value) for name, value in values if name != MAKESPAN.name)
        return {
            name: f"{value if isinstance(value, int) else float(value):,} {objective(name).unit}"
            for name, value in others
        }

    def to_frame(self) -> pd.DataFrame:
        """The completion times as a pandas data frame, one row per job.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame({"job": job, "completion": end} for job, end in self.completion.items())

    def _repr_html_(self) -> str:
        broken = [asdict(violation) for violation in self.violations[:MOST_ROWS]]
        table = html_rows("Violations", broken, len(self.violations)) if broken else ""
        return html_lines("Report of the verifier", self.lines()) + table

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
            "completion": dict(self.completion),
            "utilisation": None if self.utilisation is None else dict(self.utilisation),
            "violations": [asdict(violation) for violation in self.violations],
        }
