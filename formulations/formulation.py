"""The type of formulations: build a Pyomo model of the problem, and read its solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rarmodel import registry
from rarmodel.culprits import shown
from rarmodel.errors import PartError, UsageError
from rarmodel.model import Extremes, Pace, Topology, Window, pace, plain_pace, windows
from rarmodel.model.gpu_assignment import Stay
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Job, Link, Schedule, Server

if TYPE_CHECKING:
    import pyomo.environ as pyo

ModelClass = Literal["integer", "linear", "nonlinear"]
"""Class of models that a solver must be able to solve: `integer` is linear in bounded integer
variables, `linear` may also have continuous variables, `nonlinear` is non-linear.
"""


@dataclass(frozen=True)
class Scope:
    """The scope of a model. Models are indexed by the names of jobs, servers and links.

    Attributes
    ----------
    instance
        The problem.
    tree
        Its network.
    extremes
        The range of each job's execution time, in job order.
    horizon
        Number of slots of the model: it leaves out schedules of greater makespan.
    lower_bound
        A proven lower bound on the makespan.
    data
        Data that a formulation needs beside the instance, by name: weights, deadlines, a pool.
        Plain JSON data; `--data FILE` on the command line.
    every_schedule
        Whether the model must contain every feasible schedule. If not, it may leave out a schedule
        if an equal or better one remains: one order of equal servers is enough, for example. A
        formulation with added constraints or another objective needs every schedule.
    allowed
        Rules that a placement must pass before it gets variables; see `Allows`.
    stage
        Place of the objective to minimise among those of the instance.
    at_most
        Greatest allowed values of the instance's objectives, the most important first. Constraints
        keep the values of objectives before the stage; all values limit when jobs may end.
    """

    instance: Instance
    tree: Topology
    extremes: tuple[Extremes, ...]
    horizon: int
    lower_bound: int
    data: Mapping[str, Any] = field(default_factory=dict)
    every_schedule: bool = False
    allowed: tuple[Allows, ...] = ()
    stage: int = 0
    at_most: tuple[Value, ...] = ()

    def allows(self, job: str, workers: Mapping[str, int], left: int) -> bool:
        """Whether every rule allows a job this placement, complete or partial; see `Allows`."""
        return all(_answer(rule(self, job, workers, left)) for rule in self.allowed)

    @cached_property
    def index(self) -> dict[str, int]:
        """Index of each job by name."""
        return {job.name: j for j, job in enumerate(self.instance.jobs)}

    def pace(self, job: str) -> Pace:
        """What an iteration of a job is made of that has one ring size and one pace."""
        return plain_pace(self.instance, self.index[job])

    def pace_on(self, job: str, workers: Mapping[str, int]) -> Pace:
        """What an iteration is made of in a placement: workers by server."""
        types = [self.servers[server].gpu_type for server in workers]
        return pace(self.instance, self.index[job], sum(workers.values()), types)

    @cached_property
    def windows(self) -> dict[str, Window]:
        """By job: the slots in which it can be active."""
        return dict(zip(self.jobs, windows(self.instance, self.horizon, self.at_most), strict=True))

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """Jobs by name, in input order."""
        return {job.name: job for job in self.instance.jobs}

    @cached_property
    def servers(self) -> dict[str, Server]:
        """Servers by name, in input order."""
        return {server.name: server for server in self.instance.cluster.servers}

    @cached_property
    def server_index(self) -> dict[str, int]:
        """Index of each server by name."""
        return {name: s for s, name in enumerate(self.servers)}

    @cached_property
    def links(self) -> dict[str, Link]:
        """Links by the name of the node below them: a server's link by the server's name."""
        return {link.node: link for link in self.tree.links}

    @cached_property
    def below(self) -> dict[str, tuple[str, ...]]:
        """By link: the servers below it."""
        below: dict[str, list[str]] = {node: [] for node in self.links}
        for server, path in zip(self.servers, self.tree.paths, strict=True):
            for link in path:
                below[self.tree.links[link].node].append(server)
        return {node: tuple(servers) for node, servers in below.items()}

    @cached_property
    def least_slots(self) -> dict[str, int]:
        """By job: least execution time in slots, ρ_j^min."""
        return {j: e.least_slots for j, e in zip(self.jobs, self.extremes, strict=True)}

    def read(self, name: str, default: Any = None) -> Any:
        """An entry of `data`.

        Raises
        ------
        UsageError
            If the entry is missing and there is no default.
        """
        if name not in self.data and default is None:
            raise UsageError(
                f"this formulation needs the entry {name!r} in its data (--data FILE, or data=…)"
            )
        return self.data.get(name, default)

    def check_jobs(self, names: Any, what: str) -> None:
        """Refuse names that no job has.

        Raises
        ------
        UsageError
            With the names; `what` names the entry in which they occur.
        """
        _check(names, self.jobs, "job", what)

    def check_servers(self, names: Any, what: str) -> None:
        """Refuse names that no server has; see `check_jobs`."""
        _check(names, self.servers, "server", what)


def _answer(allowed: object) -> bool:
    if isinstance(allowed, bool | np.bool_):
        return bool(allowed)
    raise PartError(
        f"a rule for placements (allows) returned {shown(allowed)}; True or False is expected"
    )


def _check(names: Any, known: Mapping[str, object], kind: str, what: str) -> None:
    if unknown := [str(name) for name in names if name not in known]:
        few = ", ".join(list(known)[:10]) + (", …" if len(known) > 10 else "")
        raise UsageError(f"{what}: no {kind} {', '.join(map(repr, unknown))}; choose from {few}")


class Plan(NamedTuple):
    """A solution of a model: start slot, and workers on each server (by index), job by job.

    If it matters which GPUs of a server a job holds, `gpus` has their indices, by server index;
    otherwise rarmodel numbers them afterwards. If jobs may be interrupted, `stays` has what each of
    them holds and when, one after another; `starts` and `workers` are those of the first.
    """

    starts: tuple[int, ...]
    workers: tuple[Mapping[int, int], ...]
    gpus: tuple[Mapping[int, tuple[int, ...]], ...] | None = None
    stays: tuple[tuple[Stay, ...], ...] | None = None


def _fits(scope: Scope) -> str | None:
    return None


def _proves(scope: Scope) -> bool:
    return True


Component = Callable[[Any, Scope], None]
"""A function that adds the variables and constraints of one idea to a model."""

Allows = Callable[[Scope, str, Mapping[str, int], int], bool]
"""Whether a job may be placed so: scope, job, workers by server, number of workers left to place.

rarmodel builds a placement server by server, in input order, and calls the rule at each step. A
rule that refuses a step refuses all placements that continue it. With 0 left the placement is
complete."""


@dataclass(frozen=True)
class Formulation(registry.Part):
    """A formulation: functions that build a Pyomo model and convert between it and schedules.

    Attributes
    ----------
    name
        Name for `--formulation`.
    build
        Builds a Pyomo model of the problem with one objective, to be minimised.
    load
        Sets the model's variables to a feasible schedule, as a starting solution. Fixed variables
        keep their values.
    plan
        Reads starts and placements from the model's variables. It returns None if the model has
        none: the model is then a relaxation, and only its bound counts.
    size
        Approximate number of terms in the model's constraints, computed without building the model.
    unfit
        Why solvers cannot be trusted with the model of a scope; None if they can.
    model_class
        Class of models that a solver must be able to solve.
    objective
        Name of the formulation's own objective. `makespan` stands for the instance's objectives.
    restricts
        Whether the model adds constraints or another objective. rarmodel then uses heuristic
        schedules only if they satisfy the model, and its bounds hold for this formulation only.
    proves
        Whether, for a scope, a bound on the model's objective holds for every schedule. It does not
        for a choice from a pool.
    base
        The formulation that this formulation extends, or None.
    evaluate
        Makes a model without variables. Its components have their values in a schedule, so that
        additions can refer to them; see `rarmodel.formulations.values`. Its time depends on the
        components that the additions use, and not on the size of the model. None if only the model
        itself can judge a schedule; a KeyError or AttributeError says this of one scope.
    lists_placements
        Whether the model has variables for each placement, so that rules can exclude placements.
    reads
        Names of the entries of `data` that the formulation may read; None if unknown in advance.
    handles
        Names of the features of wider instances that it handles; see `rarmodel.model.features`.
    meant_for
        Names of features without which another formulation is the better choice. Comparisons of
        all formulations leave it out where an instance has none of them.
    description
        Description in one line.
    """

    kind = "formulations"

    name: str
    build: Callable[[Scope], pyo.ConcreteModel]
    load: Callable[[pyo.ConcreteModel, Scope, Schedule], None]
    plan: Callable[[pyo.ConcreteModel, Scope], Plan | None]
    size: Callable[[Scope], int]
    unfit: Callable[[Scope], str | None] = _fits
    model_class: ModelClass = "integer"
    objective: str = "makespan"
    restricts: bool = False
    proves: Callable[[Scope], bool] = _proves
    base: Formulation | None = None
    evaluate: Callable[[Scope, Schedule], pyo.ConcreteModel] | None = None
    lists_placements: bool = False
    reads: frozenset[str] | None = None
    handles: frozenset[str] = frozenset()
    meant_for: frozenset[str] = frozenset()
    description: str = ""

    def extended(
        self,
        name: str,
        *components: Component,
        objective: Callable[[Any, Scope], Any] | None = None,
        objective_name: str | None = None,
        model_class: ModelClass | None = None,
        allows: Allows | None = None,
    ) -> Formulation:
        """Extend this formulation by variables and constraints, or by another objective.

        Parameters
        ----------
        name
            Name of the new formulation.
        components
            Functions `(model, scope)` that add to the Pyomo model, called in order.
        objective
            Function `(model, scope)` that returns the expression to minimise instead.
        objective_name
            Name of the objective; by default the function's name.
        model_class
            New class of models, if it changes.
        allows
            A rule for placements: a placement that fails gets no variables.

        Raises
        ------
        UsageError
            If you give a rule, and this formulation does not list placements.
        """
        base = self
        if allows is not None and not base.lists_placements:
            raise UsageError(
                f"{name}: formulation {base.name!r} lists no placements that a rule could leave "
                "out; extend time-indexed, or state the rule as constraints"
            )

        made = _Extended(name, base, components, objective, allows)
        words = self.objective
        if objective is not None:
            plain = getattr(objective, "__name__", name)
            words = objective_name or (name if plain == "<lambda>" else plain.replace("_", " "))
        return replace(
            self,
            name=name,
            build=made.build,
            load=made.load,
            plan=made.plan,
            size=made.size,
            unfit=made.unfit,
            objective=words,
            model_class=model_class or self.model_class,
            restricts=True,
            base=self.base or self,
            reads=None,
            description=f"{self.name} with more to keep, or another objective",
            evaluate=None if base.evaluate is None else made.evaluate,
        )


@dataclass(frozen=True)
class _Extended:
    """The functions of an extended formulation; they can be pickled if those of the user can."""

    name: str
    base: Formulation
    components: tuple[Component, ...]
    objective: Callable[[Any, Scope], Any] | None
    allows: Allows | None

    def _wider(self, scope: Scope) -> Scope:
        rules = () if self.allows is None else (self.allows,)
        return replace(scope, every_schedule=True, allowed=(*scope.allowed, *rules))

    def _added(self, model: pyo.ConcreteModel, scope: Scope) -> pyo.ConcreteModel:
        import pyomo.environ as pyo  # noqa: PLC0415

        for component in self.components:
            component(model, scope)
        if self.objective is not None:
            for old in model.component_data_objects(pyo.Objective, active=True):
                old.deactivate()
            expression = self.objective(model, scope)
            if not _is_expression(expression):
                raise PartError(
                    f"formulation {self.name!r}: its objective is {shown(expression)}; an "
                    "expression is expected"
                )
            minimised = pyo.Objective(expr=expression)
            model.add_component(f"minimise_{_identifier(self.name)}", minimised)
        return model

    def build(self, scope: Scope) -> pyo.ConcreteModel:
        """Build the base's model, and add to it."""
        return self._added(self.base.build(self._wider(scope)), scope)

    def load(self, model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
        """Set the variables as the base does."""
        self.base.load(model, self._wider(scope), schedule)

    def plan(self, model: pyo.ConcreteModel, scope: Scope) -> Plan | None:
        """Read the variables as the base does."""
        return self.base.plan(model, self._wider(scope))

    def size(self, scope: Scope) -> int:
        """Size of the base's model, without what is added."""
        return self.base.size(self._wider(scope))

    def unfit(self, scope: Scope) -> str | None:
        """Why solvers cannot be trusted with the base's model."""
        return self.base.unfit(self._wider(scope))

    def evaluate(self, scope: Scope, schedule: Schedule) -> pyo.ConcreteModel:
        """The base's model without variables, with what is added."""
        assert self.base.evaluate is not None  # noqa: S101 - `extended` asks for it only then
        return self._added(self.base.evaluate(self._wider(scope), schedule), scope)


def _is_expression(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return isfinite(value)
    return hasattr(value, "is_expression_type")


def _identifier(name: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in name)


def is_set(variable: Any) -> bool:
    """Whether a binary variable has a value, and that is 1 but for a solver's tolerance."""
    return variable.value is not None and variable.value > 0.5


def put(variable: Any, value: float) -> None:
    """Set a variable to a value, unless it is fixed."""
    if not variable.fixed:
        variable.set_value(value, skip_validation=True)
