"""The type of formulations: build a Pyomo model of the problem, and read its solution."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from rarmodel import registry
from rarmodel.culprits import shown
from rarmodel.errors import PartError, UsageError
from rarmodel.schema import Schedule

from .component import Component
from .composition import Composition, as_it_is
from .plan import Plan
from .scope import Allows, AllowsAt, Scope

if TYPE_CHECKING:
    import pyomo.environ as pyo

ModelClass = Literal["integer", "linear", "nonlinear", "intervals"]
"""Class of models that a solver must be able to solve: `integer` is linear in bounded integer
variables, `linear` may also have continuous variables, `nonlinear` is non-linear. `intervals` is
`integer` with cumulative constraints beside it; see `rarmodel.formulations.intervals`.
"""


def _fits(scope: Scope) -> str | None:
    return None


def _is_loose(_: Scope) -> bool:
    return False


def _proves(scope: Scope) -> bool:
    return True


Addition = Component | Callable[[Any, Scope], None]
"""A component, or just a function `(model, scope)` that adds variables and constraints."""


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
    tight
        Whether, for a scope, the LP relaxation proves most of what there is to prove; then `auto`
        asks a solver that branches on it first.
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
    composition
        The components of which the model is made; None if it is made otherwise.
    extension
        What it adds to another formulation; None if it extends none.
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
    tight: Callable[[Scope], bool] = _is_loose
    objective: str = "makespan"
    restricts: bool = False
    proves: Callable[[Scope], bool] = _proves
    base: Formulation | None = None
    evaluate: Callable[[Scope, Schedule], pyo.ConcreteModel] | None = None
    lists_placements: bool = False
    reads: frozenset[str] | None = None
    handles: frozenset[str] = frozenset()
    meant_for: frozenset[str] = frozenset()
    composition: Composition | None = None
    extension: Extension | None = None
    description: str = ""

    @property
    def states_additions(self) -> bool:
        """Whether what it adds to rarmodel's formulations is known, so that other models take it.

        Not where somebody has replaced its functions by others.
        """
        if self.extension is None and not self.restricts:
            return True
        made = self.extension or self.composition
        if made is None or self.build != made.build or self.evaluate != made.evaluate:
            return False
        return self.extension is None or self.extension.base.states_additions

    @classmethod
    def composed(
        cls,
        name: str,
        *components: Component,
        plan: Callable[[pyo.ConcreteModel, Scope], Plan | None],
        size: Callable[[Scope], int],
        in_order: Callable[[Scope, Schedule], Schedule] = as_it_is,
        interrupts: bool = False,
        evaluates: bool = True,
        **others: Any,
    ) -> Formulation:
        """A formulation whose model is made of components.

        Starting solutions and the values of a schedule follow from those of the components.

        Parameters
        ----------
        name, plan, size
            As the attributes.
        components
            The components, in the order in which they build the model.
        in_order, interrupts
            See `Composition`.
        evaluates
            Whether the components know all their values in a schedule without the model.
        others
            Other attributes; `load` and `evaluate` where those of the components will not do.

        Raises
        ------
        UsageError
            If a component needs something that no earlier one gives.
        """
        made = Composition(name, components, in_order, interrupts)
        evaluate = made.evaluate if evaluates and made.judges else None
        usual = {"load": made.load, "evaluate": evaluate}
        return cls(
            name=name, build=made.build, plan=plan, size=size, composition=made, **usual | others
        )

    def with_components(
        self,
        name: str,
        *components: Component,
        without: Collection[str] = (),
        restricts: bool = True,
    ) -> Formulation:
        """Replace components of this formulation, add some, or leave some out.

        Parameters
        ----------
        name
            Name of the new formulation.
        components
            Each takes the place of the component of its name; if there is none, it comes last.
        without
            Names of components to leave out.
        restricts
            Whether the model may rule out feasible schedules; false if it states the same problem
            in another way.

        Raises
        ------
        UsageError
            If this formulation is not made of components, or one does not find what it needs.
        """
        if self.composition is None:
            raise UsageError(
                f"{name}: formulation {self.name!r} is not made of components; choose those of the "
                "formulation that it extends, and extend it then"
            )
        made = self.composition.changed(name, components, without, whole=restricts)
        judges = self.evaluate is not None and made.judges
        return replace(
            self,
            name=name,
            build=made.build,
            load=made.load,
            evaluate=made.evaluate if judges else None,
            restricts=self.restricts or restricts,
            base=self.base or self,
            reads=None,
            composition=made,
            description=f"{self.name} with other components",
        )

    def extended(
        self,
        name: str,
        *components: Addition,
        objective: Callable[[Any, Scope], Any] | None = None,
        objective_name: str | None = None,
        model_class: ModelClass | None = None,
        allows: Allows | None = None,
        allows_at: AllowsAt | None = None,
    ) -> Formulation:
        """Extend this formulation by variables and constraints, or by another objective.

        Parameters
        ----------
        name
            Name of the new formulation.
        components
            Functions `(model, scope)` that add to the Pyomo model, or components; called in order.
        objective
            Function `(model, scope)` that returns the expression to minimise instead.
        objective_name
            Name of the objective; by default the function's name.
        model_class
            New class of models, if it changes.
        allows
            A rule for placements: a placement that fails gets no variables.
        allows_at
            A rule for placements at slots: where it fails, the job is not active in that placement
            in that slot, and the variable is fixed at 0.

        Raises
        ------
        UsageError
            If you give a rule, and this formulation does not list placements.
        """
        base = self
        ruled = allows is not None or allows_at is not None
        if ruled and not base.lists_placements:
            raise UsageError(
                f"{name}: formulation {base.name!r} lists no placements that a rule could leave "
                "out; extend time-indexed, or state the rule as constraints"
            )

        made = Extension(name, base, components, objective, allows, allows_at)
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
            composition=None,
            extension=made,
            description=f"{self.name} with more to keep, or another objective",
            evaluate=None if base.evaluate is None else made.evaluate,
        )


@dataclass(frozen=True)
class Extension:
    """The functions of an extended formulation; they can be pickled if those of the user can.

    Attributes
    ----------
    name
        Name of the extended formulation.
    base
        The formulation that it extends.
    components, objective, allows, allows_at
        What is added: see `Formulation.extended`.
    """

    name: str
    base: Formulation
    components: tuple[Addition, ...]
    objective: Callable[[Any, Scope], Any] | None
    allows: Allows | None
    allows_at: AllowsAt | None = None

    def _wider(self, scope: Scope) -> Scope:
        rules = () if self.allows is None else (self.allows,)
        slots = () if self.allows_at is None else (self.allows_at,)
        return replace(
            scope,
            every_schedule=True,
            allowed=(*scope.allowed, *rules),
            allowed_at=(*scope.allowed_at, *slots),
        )

    def add(self, model: pyo.ConcreteModel, scope: Scope) -> pyo.ConcreteModel:
        """Add to a model that has the components to which the additions refer."""
        import pyomo.environ as pyo  # noqa: PLC0415

        for added in self.components:
            build = added.build if isinstance(added, Component) else added
            build(model, scope)
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
        return self.add(self.base.build(self._wider(scope)), scope)

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
        return self.add(self.base.evaluate(self._wider(scope), schedule), scope)


def _is_expression(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return isfinite(value)
    return hasattr(value, "is_expression_type")


def _identifier(name: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in name)
