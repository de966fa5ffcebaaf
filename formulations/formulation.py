"""What a formulation is: a way to state the problem as a Pyomo model, and to read its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rarmodel.errors import UsageError
from rarmodel.model import Extremes, Topology
from rarmodel.schema import Instance, Job, Link, Schedule, Server

if TYPE_CHECKING:
    import pyomo.environ as pyo

ModelClass = Literal["integer", "linear", "nonlinear"]
"""What an engine must be able to solve: linear in bounded integer variables; linear, with
continuous variables too; non-linear."""


@dataclass(frozen=True)
class Scope:
    """What a model is to cover. Models are indexed by the names of jobs, servers and links.

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
    data
        What a formulation needs beside the instance, by name: weights, deadlines, a pool. Plain
        data, as JSON has it; `--data FILE` on the command line.
    every_schedule
        Whether the model must hold every feasible schedule. If not, it may leave out those to
        which an equal or better one remains: of equal servers, say, one order is enough. Whatever
        adds constraints or another objective needs every schedule.
    allowed
        Rules that placements must pass before variables are made for them; see `Allows`.
    """

    instance: Instance
    tree: Topology
    extremes: tuple[Extremes, ...]
    horizon: int
    lower_bound: int
    data: Mapping[str, Any] = field(default_factory=dict)
    every_schedule: bool = False
    allowed: tuple[Allows, ...] = ()

    def allows(self, job: str, workers: Mapping[str, int], left: int) -> bool:
        """Whether every rule lets a job have such a placement, complete or begun; see `Allows`."""
        return all(rule(self, job, workers, left) for rule in self.allowed)

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """Jobs by name, in input order."""
        return {job.name: job for job in self.instance.jobs}

    @cached_property
    def servers(self) -> dict[str, Server]:
        """Servers by name, in input order."""
        return {server.name: server for server in self.instance.cluster.servers}

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
            If it is not there and there is no default.
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
            With the names; `what` says what they were given for.
        """
        _check(names, self.jobs, "job", what)

    def check_servers(self, names: Any, what: str) -> None:
        """Refuse names that no server has; see `check_jobs`."""
        _check(names, self.servers, "server", what)


def _check(names: Any, known: Mapping[str, object], kind: str, what: str) -> None:
    if unknown := [str(name) for name in names if name not in known]:
        few = ", ".join(list(known)[:10]) + (", …" if len(known) > 10 else "")
        raise UsageError(f"{what}: no {kind} {', '.join(map(repr, unknown))}; choose from {few}")


class Plan(NamedTuple):
    """A solution of a model: start slot, and workers on each server (by index), job by job.

    Where it matters which GPUs of its servers a job holds, `gpus` has their indices, by server
    index; otherwise they are numbered afterwards.
    """

    starts: tuple[int, ...]
    workers: tuple[Mapping[int, int], ...]
    gpus: tuple[Mapping[int, tuple[int, ...]], ...] | None = None


def _fits(scope: Scope) -> str | None:
    return None


def _proves(scope: Scope) -> bool:
    return True


Component = Callable[[Any, Scope], None]
"""Adds variables and constraints of one idea to a model."""

Allows = Callable[[Scope, str, Mapping[str, int], int], bool]
"""Whether a job may be placed so: scope, job, workers by server, workers that are left to place.

A placement is made server by server, in input order, and each step of it is asked about. A rule
that says no to a step says no to all that can follow. With 0 left the placement is complete."""


@dataclass(frozen=True)
class Formulation:
    """A formulation: functions that build a Pyomo model, and that go between it and schedules.

    Attributes
    ----------
    name
        What `--formulation` calls it.
    build
        States the problem as a Pyomo model with one objective, to be minimised.
    load
        Sets the model's variables to a feasible schedule, as a starting solution. Variables that
        are fixed stay as they are.
    plan
        Reads starts and placements from the model's variables. None if the model has none: it is
        a relaxation, and only its bound counts.
    size
        Number of terms in the model's constraints, about; known without building it.
    unfit
        Why solvers cannot be trusted with the model of a scope; None if they can.
    model_class
        What an engine must be able to solve.
    objective
        What is minimised, in words. `makespan` is in slots, and its bounds count as the makespan's.
    restricts
        Whether the model asks for more than the instance does, or for something else. Heuristic
        schedules are then only used if they satisfy the model, and its bounds hold for it alone.
    proves
        Whether, for a scope, a bound on the model's objective is one on every schedule asked for.
        Not so for a choice from a pool.
    base
        The formulation that this one extends; None if there is none.
    evaluate
        A model without variables whose components have the values that a schedule gives them, for
        additions to refer to; see `rarmodel.formulations.values`. It takes time with what they
        refer to, and not with the size of the model. None if a schedule can only be judged by the
        model itself; a KeyError or AttributeError says the same of one scope.
    lists_placements
        Whether the model has a variable for each placement, so that rules can leave some out.
    reads
        Names of the entries of `data` that it may read; None if only a run tells.
    description
        What it is, in a line.
    """

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
        """Give this formulation more variables and constraints, or another objective.

        Parameters
        ----------
        name
            Name of the new formulation.
        components
            Functions `(model, scope)` that add to the Pyomo model, called in order.
        objective
            Function `(model, scope)` that gives the expression to minimise instead.
        objective_name
            What that is, in words; by default the function's name.
        model_class
            What an engine must be able to solve, if that changes.
        allows
            A rule that placements must pass: those that do not get no variables.

        Raises
        ------
        UsageError
            If there is a rule, and this formulation lists no placements.
        """
        base = self
        if allows is not None and not base.lists_placements:
            raise UsageError(
                f"{name}: formulation {base.name!r} lists no placements that a rule could leave "
                "out; extend time-indexed, or state the rule as constraints"
            )

        def wider(scope: Scope) -> Scope:
            rules = () if allows is None else (allows,)
            return replace(scope, every_schedule=True, allowed=(*scope.allowed, *rules))

        def added(model: pyo.ConcreteModel, scope: Scope) -> pyo.ConcreteModel:
            import pyomo.environ as pyo  # noqa: PLC0415

            for component in components:
                component(model, scope)
            if objective is not None:
                for old in model.component_data_objects(pyo.Objective, active=True):
                    old.deactivate()
                expression = objective(model, scope)
                model.add_component(f"minimise_{_identifier(name)}", pyo.Objective(expr=expression))
            return model

        evaluate = base.evaluate
        words = self.objective
        if objective is not None:
            plain = getattr(objective, "__name__", name)
            words = objective_name or (name if plain == "<lambda>" else plain.replace("_", " "))
        return replace(
            self,
            name=name,
            build=lambda scope: added(base.build(wider(scope)), scope),
            load=lambda model, scope, schedule: base.load(model, wider(scope), schedule),
            plan=lambda model, scope: base.plan(model, wider(scope)),
            size=lambda scope: base.size(wider(scope)),
            unfit=lambda scope: base.unfit(wider(scope)),
            objective=words,
            model_class=model_class or self.model_class,
            restricts=True,
            base=self.base or self,
            reads=None,
            description=f"{self.name} with more to keep, or another objective",
            evaluate=evaluate
            and (lambda scope, schedule: added(evaluate(wider(scope), schedule), scope)),
        )


def _identifier(name: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in name)


def put(variable: Any, value: float) -> None:
    """Set a variable to a value, unless it is fixed."""
    if not variable.fixed:
        variable.set_value(value, skip_validation=True)
