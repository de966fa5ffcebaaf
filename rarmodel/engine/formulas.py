"""The model's plain functions, compiled as they stand: so numbers equal the verifier's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarmodel.model import contention, interruptions, timing
from rarmodel.model.sharing_rule import RULES
from rarmodel.model.sharing_rule import felt_units as _felt_units

from .compilation import compiled

(_LOADS,) = (rule for rule in RULES.values() if not rule.equal_weights)
"""The rule by which rings count with weights of their own. Rules by which they are alike need no
compiled functions: `Arrays.share` has what each number of rings leaves. A second rule of weights
would be chosen here, by a number among the arrays."""

if TYPE_CHECKING:
    iteration_seconds = timing.iteration_seconds
    overhead_seconds = timing.overhead_seconds
    speed = timing.speed
    slots_needed = timing.slots_needed
    kept_iterations = interruptions.kept_iterations
    linear_degradation = contention.linear_degradation
    weight = _LOADS.weight
    level = _LOADS.level
    felt_units = _felt_units
else:
    iteration_seconds = compiled(timing.iteration_seconds, inner=True)
    overhead_seconds = compiled(timing.overhead_seconds, inner=True)
    speed = compiled(timing.speed, inner=True)
    slots_needed = compiled(timing.slots_needed, inner=True)
    kept_iterations = compiled(interruptions.kept_iterations, inner=True)
    linear_degradation = compiled(contention.linear_degradation, inner=True)
    weight = compiled(_LOADS.weight, inner=True)
    level = compiled(_LOADS.level, inner=True)
    felt_units = compiled(_felt_units, inner=True)
