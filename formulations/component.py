"""A component: one idea of a model, with what it needs of other components and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.model.sharing_rule import RULES, SharingRule

from .scope import Scope

if TYPE_CHECKING:
    from .outcome import ScheduleOutcome
    from .values import Values


def _always(scope: Scope) -> bool:
    return True


@dataclass(frozen=True)
class Component:
    """One idea of a model: its variables, expressions and constraints.

    Attributes
    ----------
    name
        The idea. Of the components of a formulation that hold in a scope, only one has this name.
    build
        Function `(model, scope)` that adds to a Pyomo model. Its docstring cites the equations and
        states the constraints.
    needs
        Names of variables and expressions of earlier components that it refers to.
    gives
        Names of variables and expressions that it adds; some of them perhaps only in some scopes.
    values
        The values of what it gives in a schedule, as far as they follow from the schedule without
        the model; see `rarmodel.formulations.values`. Those of the usual names need no mention.
    inner
        The values of the rest, which take the numbers of the model.
    equal_weights
        Whether it is for sharing rules by which all rings on a link count alike, so that a load is
        a number of rings, or for the others; None if it is for all rules.
    when
        The scopes in which it holds.
    """

    name: str
    build: Callable[[Any, Scope], None]
    needs: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    values: Callable[[ScheduleOutcome], Mapping[str, Values]] | None = None
    inner: Callable[[ScheduleOutcome], Mapping[str, Values]] | None = None
    equal_weights: bool | None = None
    when: Callable[[Scope], bool] = _always

    @property
    def mathematics(self) -> str:
        """What it states, as its build function documents it."""
        stated = getattr(self.build, "func", self.build).__doc__
        return str(stated or "")

    def takes_the_place_of(self, other: Component) -> bool:
        """Whether it replaces another one: that of its name, for its sharing rules."""
        mine = self.equal_weights
        return self.name == other.name and (mine is None or mine == other.equal_weights)

    def holds_by(self, rule: SharingRule) -> bool:
        """Whether it holds where rings share links by a rule."""
        return self.equal_weights is None or self.equal_weights == rule.equal_weights

    def holds(self, scope: Scope) -> bool:
        """Whether it is part of the model of a scope."""
        return self.holds_by(scope.sharing) and self.when(scope)


def check_order(formulation: str, components: Iterable[Component]) -> None:
    """Check that each component finds what it needs, whatever the sharing rule.

    Raises
    ------
    UsageError
        If an earlier component does not give it, or two have one name or give the same.
    """
    components = tuple(components)
    for rule in RULES.values():
        given: dict[str, str] = {}
        names = set()
        for component in components:
            if not component.holds_by(rule):
                continue
            place = f"formulation {formulation!r}, component {component.name!r}"
            if component.name in names:
                raise UsageError(f"{place}: another component has this name")
            names.add(component.name)
            if missing := [name for name in component.needs if name not in given]:
                raise UsageError(
                    f"{place} needs {', '.join(missing)}, which no component before it gives"
                )
            if twice := [name for name in component.gives if name in given]:
                raise UsageError(f"{place} gives {twice[0]}, as {given[twice[0]]!r} does")
            given |= dict.fromkeys(component.gives, component.name)
