"""The model's plain functions, compiled as they stand: so numbers equal the verifier's."""

from __future__ import annotations

from functools import cache
from inspect import isfunction
from types import FunctionType
from typing import TYPE_CHECKING

from rarmodel.model import contention, gpu_sharing, interruptions, timing
from rarmodel.model.sharing_rule import RULES
from rarmodel.model.sharing_rule import felt_units as _felt_units

from .compilation import compiled

(_LOADS,) = (rule for rule in RULES.values() if not rule.equal_weights)
"""The rule by which rings count with weights of their own. Rules by which they are alike need no
compiled functions: `Arrays.share` has what each number of rings leaves. A second rule of weights
would be chosen here, by a number among the arrays."""

if TYPE_CHECKING:
    exchange_seconds = timing.exchange_seconds
    iteration_seconds = timing.iteration_seconds
    overhead_seconds = timing.overhead_seconds
    speed = timing.speed
    slots_needed = timing.slots_needed
    kept_iterations = interruptions.kept_iterations
    linear_degradation = contention.linear_degradation
    cards_gbps = contention.cards_gbps
    weight = _LOADS.weight
    level = _LOADS.level
    felt_units = _felt_units
    slowdown = gpu_sharing.slowdown
else:

    @cache
    def _inner(function: FunctionType) -> FunctionType:
        """Compile a plain function, with the plain functions that it calls."""
        known = function.__globals__
        called = {name: known[name] for name in function.__code__.co_names if name in known}
        inner = {name: _inner(one) for name, one in called.items() if isfunction(one)}
        if inner:
            function = FunctionType(function.__code__, {**known, **inner}, function.__name__)
        return compiled(function, inner=True)

    exchange_seconds = _inner(timing.exchange_seconds)
    iteration_seconds = _inner(timing.iteration_seconds)
    overhead_seconds = _inner(timing.overhead_seconds)
    speed = _inner(timing.speed)
    slots_needed = _inner(timing.slots_needed)
    kept_iterations = _inner(interruptions.kept_iterations)
    linear_degradation = _inner(contention.linear_degradation)
    cards_gbps = _inner(contention.cards_gbps)
    weight = _inner(_LOADS.weight)
    level = _inner(_LOADS.level)
    felt_units = _inner(_felt_units)
    slowdown = _inner(gpu_sharing.slowdown)
