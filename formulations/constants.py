"""Numbers that take part in expressions as variables do, at the cost of numbers.

An addition is written for variables: `m.held[j, s, t] <= 4`. Where a schedule or a window decides
the value, there need be no variable. But Pyomo takes a comparison of plain numbers, which is True
or False, for an error. So a `Constant` adds and multiplies like a number, and compares like a
variable: by a fixed variable of that value, made when it is needed. Pyomo decides comparisons of
three sides itself; for additions that have such, constants are fixed variables from the beginning.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numvalue import NumericConstant, native_numeric_types
from pyomo.core.expr.relational_expr import EqualityExpression, InequalityExpression

STAND_INS = "_numbers"
"""Component of a model that has the fixed variables."""


class Constants:
    """The constants of a model: one object for each value.

    Parameters
    ----------
    model
        Gets the fixed variables that stand for constants in comparisons.
    variables
        Whether all constants are fixed variables.

    Attributes
    ----------
    variables
        Whether all constants are fixed variables.
    """

    def __init__(self, model: Any, *, variables: bool = False) -> None:
        self.variables = variables
        self._numbers = pyo.VarList()
        model.add_component(STAND_INS, self._numbers)
        self._known: dict[float, Constant] = {}
        self._stand_ins: dict[float, Any] = {}
        self._wishes: list[float] = []

    @property
    def changed(self) -> bool:
        """Whether somebody has fixed a constant at another value."""
        kept = all(one.value == value and one.fixed for value, one in self._stand_ins.items())
        return bool(self._wishes) or not kept

    def wish(self, value: float) -> None:
        """Note that somebody fixes a constant at another value."""
        self._wishes.append(value)

    def of(self, value: float) -> Any:
        """The constant of a value."""
        if self.variables:
            return self.stand_in(value)
        if value not in self._known:
            self._known[value] = Constant(value, self)
        return self._known[value]

    def stand_in(self, value: float) -> Any:
        """A fixed variable of a value."""
        if value not in self._stand_ins:
            number = self._numbers.add()
            number.fix(value)
            self._stand_ins[value] = number
        return self._stand_ins[value]


class Constant(NumericConstant):  # type: ignore[misc]
    """A number in a model; see the top of this file."""

    __slots__ = ("table",)

    def __init__(self, value: float, table: Constants) -> None:
        super().__init__(value)
        self.table = table

    def __getstate__(self) -> Any:
        return self.value, self.table

    def __setstate__(self, state: Any) -> None:
        value, self.table = state
        super().__init__(value)

    def fix(self, value: float | None = None, **_: Any) -> None:
        """Note a wish for another value: this one is what a schedule or a window says."""
        if value is not None and value != self.value:
            self.table.wish(value)

    @property
    def fixed(self) -> bool:
        """True: it is no variable."""
        return True

    def __add__(self, other: Any) -> Any:
        if not self.value:
            return self.table.of(other) if other.__class__ in native_numeric_types else other
        if other.__class__ is Constant:
            return self.table.of(self.value + other.value)
        if other.__class__ in native_numeric_types:
            return self.table.of(self.value + other)
        return self.value + other

    __radd__ = __iadd__ = __add__

    def __neg__(self) -> Any:
        return self.table.of(-self.value)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.table.of(abs(self.value))

    def __sub__(self, other: Any) -> Any:
        if other.__class__ is Constant:
            return self.table.of(self.value - other.value)
        if other.__class__ in native_numeric_types:
            return self.table.of(self.value - other)
        return self.value - other

    __isub__ = __sub__

    def __rsub__(self, other: Any) -> Any:
        if other.__class__ in native_numeric_types:
            return self.table.of(other - self.value)
        return other - self.value if self.value else other

    def __mul__(self, other: Any) -> Any:
        if other.__class__ is Constant:
            return self.table.of(self.value * other.value)
        if other.__class__ in native_numeric_types:
            return self.table.of(self.value * other)
        return self.value * other if self.value else self

    __rmul__ = __imul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if other.__class__ is Constant:
            return self.table.of(self.value / other.value)
        if other.__class__ in native_numeric_types:
            return self.table.of(self.value / other)
        return self.value / other

    def __rtruediv__(self, other: Any) -> Any:
        if other.__class__ in native_numeric_types:
            return self.table.of(other / self.value)
        return other / self.value

    def __pow__(self, other: Any) -> Any:
        if other.__class__ is Constant:
            return self.table.of(self.value**other.value)
        if other.__class__ in native_numeric_types:
            return self.table.of(self.value**other)
        return self.value**other

    def __rpow__(self, other: Any) -> Any:
        if other.__class__ in native_numeric_types:
            return self.table.of(other**self.value)
        return other**self.value

    def _side(self, other: Any) -> tuple[Any, Any]:
        """Both sides of a comparison: one that Pyomo does not decide at once."""
        if other.__class__ is Constant:
            other = other.value
        return self.table.stand_in(self.value), other

    def __le__(self, other: Any) -> Any:
        return InequalityExpression(self._side(other), False)  # noqa: FBT003 - as Pyomo has it

    def __ge__(self, other: Any) -> Any:
        return InequalityExpression(self._side(other)[::-1], False)  # noqa: FBT003

    def __lt__(self, other: Any) -> Any:
        return InequalityExpression(self._side(other), True)  # noqa: FBT003

    def __gt__(self, other: Any) -> Any:
        return InequalityExpression(self._side(other)[::-1], True)  # noqa: FBT003

    def __eq__(self, other: object) -> Any:
        return EqualityExpression(self._side(other))

    __hash__ = None  # type: ignore[assignment]
