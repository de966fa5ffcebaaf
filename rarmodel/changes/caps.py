"""Other caps of tenants, capacities of resources, arrivals, and preemption."""

from __future__ import annotations

from math import floor

from rarmodel import registry
from rarmodel.argument_checks import shown
from rarmodel.errors import UsageError
from rarmodel.schema import Instance
from rarmodel.schema.instance import Preemption
from rarmodel.schema.job import Job

from .amounts import amount_of, factor_of

NOTHING = "none"
"""The word for no cap, and for no preemption."""


def tenant(instance: Instance, name: str, text: str) -> Instance:
    """The instance with another cap on the GPUs of a tenant; `none` for no cap.

    Raises
    ------
    UsageError
        If there is no such tenant, or it has no cap of which the text is a factor.
    """
    names = [one.name for one in instance.tenants]
    if name not in names:
        raise UsageError(_unknown("tenant", name, names))
    own = instance.tenants[names.index(name)]
    cap = None
    if text != NOTHING:
        amount = amount_of(text, least=1)
        if amount.is_factor and own.gpus is None:
            raise UsageError(f"tenant {name!r} has no cap; give a number instead of a factor")
        cap = max(1, floor(amount.of(own.gpus or 0)))
        if not amount.is_factor and cap != amount.number:
            raise UsageError(f"{shown(text)}; a whole number of GPUs is expected")
    tenants = (
        one.model_copy(update={"gpus": cap}) if one is own else one for one in instance.tenants
    )
    return instance.model_copy(update={"tenants": tuple(tenants)})


def resource(instance: Instance, name: str, text: str) -> Instance:
    """The instance with another capacity of a resource; a factor scales all its windows.

    Raises
    ------
    UsageError
        If there is no such resource.
    """
    names = [one.name for one in instance.resources]
    if name not in names:
        raise UsageError(_unknown("resource", name, names))
    amount, own = amount_of(text, zero=True), instance.resources[names.index(name)]
    new: object = amount.number
    if amount.is_factor:
        new = (
            tuple(
                window.model_copy(update={"capacity": amount.of(window.capacity)})
                for window in own.capacity
            )
            if isinstance(own.capacity, tuple)
            else amount.of(own.capacity)
        )
    resources = (
        one.model_copy(update={"capacity": new}) if one is own else one
        for one in instance.resources
    )
    return instance.model_copy(update={"resources": tuple(resources)})


def _unknown(what: str, name: str, names: list[str]) -> str:
    if not names:
        return f"{what} {shown(name)}: the instance has no {what}s"
    return registry.unknown(what, [name], names)


def arrivals(instance: Instance, _: str, text: str) -> Instance:
    """The instance whose jobs arrive faster by a factor: `x1.5` is 1.5 times the load.

    A job keeps its work, and the slots between its release and its due slot and deadline.

    Raises
    ------
    UsageError
        If the text is no factor, or no job arrives after slot 0.
    """
    factor = factor_of(text)
    if all(job.release <= 0 for job in instance.jobs):
        raise UsageError("no job arrives after slot 0")

    def sooner(job: Job) -> Job:
        if job.release <= 0:
            return job
        release = floor(job.release / factor)
        earlier = job.release - release
        moved = {
            name: slot - earlier
            for name, slot in (("due", job.due), ("deadline", job.deadline))
            if slot is not None
        }
        return job.model_copy(update={"release": release, **moved})

    return instance.model_copy(update={"jobs": tuple(map(sooner, instance.jobs))})


def preemption(instance: Instance, _: str, text: str) -> Instance:
    """The instance whose jobs may be interrupted at a cost in seconds; `none` for never."""
    if text == NOTHING:
        return instance.model_copy(update={"preemption": None})
    amount = amount_of(text, zero=True)
    before = instance.preemption
    if amount.is_factor and before is None:
        raise UsageError("jobs are not interrupted; give seconds instead of a factor")
    seconds = amount.of(0.0 if before is None else before.restore_seconds)
    new = (
        Preemption(restore_seconds=seconds)
        if before is None
        else before.model_copy(update={"restore_seconds": seconds})
    )
    return instance.model_copy(update={"preemption": new})
