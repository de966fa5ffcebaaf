"""A user's formulation, with its functions guarded: whoever fails or returns nonsense is named."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from numbers import Integral, Real
from typing import Any, cast

from rarmodel import registry

from .formulation import Formulation
from .plan import Plan

_MEANT = (AttributeError, KeyError, TypeError)
"""Exceptions of `evaluate` by which an addition says that only the model has what it refers to."""


@contextmanager
def without_pyomo_messages() -> Iterator[None]:
    """Keep Pyomo from printing about rules that fail: the exception says it, in one place."""
    loggers = [logging.getLogger(name) for name in ("pyomo.core", "pyomo.common")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def guarded(formulation: Formulation) -> Formulation:
    """The formulation; its functions raise a PartError where they fail or return nonsense."""
    if isinstance(formulation, _Guarded):
        return formulation
    return cast("Formulation", _Guarded(formulation))


class _Guarded:
    def __init__(self, formulation: Formulation) -> None:
        self._formulation = formulation

    def __reduce__(self) -> tuple[Any, ...]:
        return guarded, (self._formulation,)

    def __getattr__(self, name: str) -> Any:
        part = self.__dict__["_formulation"]
        member = getattr(part, name)
        if name not in _EXPECTED or not callable(member):
            return member
        expected, sound = _EXPECTED[name]

        def call(*arguments: Any) -> Any:
            passing = _MEANT if name == "evaluate" else ()
            with (
                registry.calling("formulations", part, passing=passing),
                without_pyomo_messages(),
            ):
                returned = member(*arguments)
                if sound(returned):
                    return returned
            raise registry.nonsense("formulations", part, returned, expected, f" from {name}")

        return call


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _counts(some: object) -> bool:
    return isinstance(some, Mapping) and all(
        _is_whole(server) and _is_whole(count) for server, count in some.items()
    )


def _is_plan(value: object) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, Plan)
        and all(map(_is_whole, value.starts))
        and all(map(_counts, value.workers))
    )


def _is_model(value: object) -> bool:
    return hasattr(value, "component_data_objects")


_EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "build": ("a Pyomo model", _is_model),
    "evaluate": ("a Pyomo model", _is_model),
    "load": ("nothing", lambda _: True),
    "plan": ("a Plan of whole starts and workers, or None", _is_plan),
    "size": ("a number of terms", lambda v: isinstance(v, Real) and 0 <= float(v) < inf),
    "unfit": ("a reason in words, or None", lambda v: v is None or isinstance(v, str)),
    "proves": ("True or False", lambda v: isinstance(v, bool)),
    "tight": ("True or False", lambda v: isinstance(v, bool)),
}
"""By function of a formulation: its results in words, and whether one is such."""
