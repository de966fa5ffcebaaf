"""What a formulation is: a way to state the problem as a Pyomo model, and to read its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rarmodel.model import Extremes, Topology
from rarmodel.schema import Instance, Schedule

if TYPE_CHECKING:
    import pyomo.environ as pyo


@dataclass(frozen=True)
class Scope:
    """What a model is to cover.

    Attributes
    ----------
    instance
        The problem.
    tree
        Its network.
    extremes
        The range of each job's execution time, in job order.
    horizon
        Slots that the model has: schedules of greater makespan are left out.
    lower_bound
        A proven lower bound on the makespan.
    """

    instance: Instance
    tree: Topology
    extremes: tuple[Extremes, ...]
    horizon: int
    lower_bound: int


class Plan(NamedTuple):
    """A solution of a model: start slot, and workers on each server (by index), job by job."""

    starts: tuple[int, ...]
    workers: tuple[Mapping[int, int], ...]


class Formulation(Protocol):
    """A formulation. Formulations are stateless."""

    @property
    def name(self) -> str:
        """What `--formulation` calls it."""

    def unfit(self, scope: Scope) -> str | None:
        """Why solvers cannot be trusted with the model of this scope; None if they can."""

    def size(self, scope: Scope) -> int:
        """Number of terms in the model's constraints, about; known without building it."""

    def build(self, scope: Scope) -> pyo.ConcreteModel:
        """State the problem as a Pyomo model whose objective is the makespan in slots."""

    def load(self, model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
        """Set the model's variables to a feasible schedule, as a starting solution."""

    def plan(self, model: pyo.ConcreteModel, scope: Scope) -> Plan:
        """Read starts and placements from the model's variables."""
