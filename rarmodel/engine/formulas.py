"""The model's plain functions, compiled as they stand: so numbers equal the verifier's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarmodel.model import contention, duty, timing

from .compilation import compiled

if TYPE_CHECKING:
    iteration_seconds = timing.iteration_seconds
    overhead_seconds = timing.overhead_seconds
    speed = timing.speed
    slots_needed = timing.slots_needed
    linear_degradation = contention.linear_degradation
    effective_rings = duty.effective_rings
    duty_units = duty.duty_units
else:
    iteration_seconds = compiled(timing.iteration_seconds, inner=True)
    overhead_seconds = compiled(timing.overhead_seconds, inner=True)
    speed = compiled(timing.speed, inner=True)
    slots_needed = compiled(timing.slots_needed, inner=True)
    linear_degradation = compiled(contention.linear_degradation, inner=True)
    effective_rings = compiled(duty.effective_rings, inner=True)
    duty_units = compiled(duty.duty_units, inner=True)
