"""The skeleton of all models: components in order, one after another, and their values."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rarmodel.errors import UsageError
from rarmodel.schema import Schedule

from .component import Component, check_order
from .scope import Scope, once_per_scope

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from .values import Values

OBJECTIVE = "objectives"
"""Name of the component that adds the objectives of instances."""


def as_it_is(scope: Scope, schedule: Schedule) -> Schedule:
    """The schedule itself: the model has every schedule."""
    return schedule


@once_per_scope
def _interrupted(scope: Scope) -> Scope:
    return replace(scope, interrupted=True)


@once_per_scope
def _whole(scope: Scope) -> Scope:
    return replace(scope, every_schedule=True)


@dataclass(frozen=True)
class Composition:
    """A model as an ordered choice of components.

    Attributes
    ----------
    name
        Name of the model.
    components
        All components; those that hold in a scope build its model, in this order.
    in_order
        Puts a schedule into the order that the model asks of equal jobs and servers.
    interrupts
        Whether jobs may be interrupted in it.
    whole
        Whether the model must have every schedule, even if the scope does not ask for it: it must
        where components may rule some out.
    added
        Names of the components that were added to those of rarmodel, or took their place.
    """

    name: str
    components: tuple[Component, ...]
    in_order: Callable[[Scope, Schedule], Schedule] = as_it_is
    interrupts: bool = False
    whole: bool = False
    added: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_order(self.name, self.components)

    def changed(
        self, name: str, components: Collection[Component], without: Collection[str], *, whole: bool
    ) -> Composition:
        """Another composition: components take the place of those of their name, or come last.

        Raises
        ------
        UsageError
            If a component to leave out does not exist, or another one does not find what it needs.
        """
        known = [one.name for one in self.components]
        if unknown := [one for one in without if one not in known]:
            raise UsageError(
                f"formulation {self.name!r} has no component {unknown[0]!r}; choose from "
                f"{', '.join(dict.fromkeys(known))}"
            )
        made: list[Component] = []
        for one in self.components:
            mine = [new for new in components if new.takes_the_place_of(one)]
            for component in mine or ([] if one.name in without else [one]):
                if component not in made:
                    made.append(component)
        made += [new for new in components if new not in made]
        return replace(
            self,
            name=name,
            components=tuple(made),
            whole=self.whole or whole,
            added=(*self.added, *(new.name for new in components)),
        )

    @property
    def judges(self) -> bool:
        """Whether it can judge a schedule without the model: objectives are those of instances."""
        return OBJECTIVE not in self.added and any(c.name == OBJECTIVE for c in self.components)

    def build(self, scope: Scope) -> pyo.ConcreteModel:
        """Build the model: each component adds the variables and constraints of one idea."""
        import pyomo.environ as pyo  # noqa: PLC0415 - takes a while to load

        scope = self.scope_of(scope)
        model = pyo.ConcreteModel(self.name)
        for component in self.chosen(scope):
            component.build(model, scope)
        return model

    def load(self, model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
        """Set every variable to its value in a feasible schedule."""
        from .outcome import ScheduleOutcome  # noqa: PLC0415 - loads Pyomo
        from .values import set_variables, usual_values  # noqa: PLC0415 - loads Pyomo

        scope = self.scope_of(scope)
        outcome = ScheduleOutcome(scope, self.in_order(scope, schedule))
        values = usual_values(outcome)
        for component in self.chosen(scope):
            for stated in (component.values, component.inner):
                values |= stated(outcome) if stated else {}
        set_variables(model, outcome, values)

    def evaluate(self, scope: Scope, schedule: Schedule) -> pyo.ConcreteModel:
        """The values of the components in a schedule, with components of a user's."""
        from .outcome import ScheduleOutcome  # noqa: PLC0415 - loads Pyomo
        from .values import model_of, usual_values  # noqa: PLC0415 - loads Pyomo

        scope = self.scope_of(scope)
        outcome = ScheduleOutcome(scope, schedule)
        chosen = self.chosen(scope)
        usual = usual_values(outcome)
        values: dict[str, Values] = {}
        for component in chosen:
            if component.name not in self.added:
                values |= {name: usual[name] for name in component.gives if name in usual}
                values |= component.values(outcome) if component.values else {}
        model = model_of(outcome, values)
        for component in chosen:
            if component.name in self.added:
                component.build(model, scope)
        return model

    def scope_of(self, scope: Scope) -> Scope:
        """The scope as its components see it."""
        scope = _whole(scope) if self.whole else scope
        return _interrupted(scope) if self.interrupts else scope

    def chosen(self, scope: Scope) -> list[Component]:
        """The components that hold in a scope: by its sharing rule, and by what else they say."""
        return [component for component in self.components if component.holds(scope)]
