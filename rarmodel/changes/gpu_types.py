"""Other types of GPU, faster GPUs, and other prices."""

from __future__ import annotations

from rarmodel import registry
from rarmodel.argument_checks import shown
from rarmodel.errors import UsageError, listed
from rarmodel.schema import Instance
from rarmodel.schema.job import GpuTimes, Job

from .amounts import amount_of, factor_of
from .network import with_cluster


def other_type(instance: Instance, _: str, text: str) -> Instance:
    """The instance with GPUs of one type replaced by another: `a100:h100:x1.8`.

    A job's times on the new type are its own, where it has such. Otherwise they are those on the
    type that is replaced, divided by the factor.

    Raises
    ------
    UsageError
        If the text is malformed, no server has the type, or a job's times are unknown.
    """
    old, _, others = text.partition(":")
    new, colon, speed = others.partition(":")
    if not (old and new):
        raise UsageError(f"{shown(text)}; a100:h100 or a100:h100:x1.8 is expected")
    factor = factor_of(speed) if colon else None
    servers = instance.cluster.servers
    types = list(dict.fromkeys(one.gpu_type for one in servers if one.gpu_type is not None))
    if not types:
        raise UsageError("no server has a gpu_type; gpu-speed=x1.8 makes all GPUs faster")
    if old not in types:
        raise UsageError(registry.unknown("GPU type", [old], types))
    changed = with_cluster(
        instance,
        servers=tuple(
            server.model_copy(update={"gpu_type": new}) if server.gpu_type == old else server
            for server in servers
        ),
    )
    there = [*types, *([] if new in types else [new])]
    lacking, jobs = [], []
    for job in instance.jobs:
        times = _times_by_type(job, there, old=old, new=new, factor=factor, known=new in types)
        if times is None:
            lacking.append(job.name)
        jobs.append(job if times is None or times == job.times else _with_times(job, times))
    if lacking:
        raise UsageError(
            f"jobs {listed(lacking)} have no times on {new!r}; say how much faster it is, as in "
            f"gpu-type={old}:{new}:x1.8"
        )
    return with_types_that_are_there(changed.model_copy(update={"jobs": tuple(jobs)}))


def _times_by_type(
    job: Job, types: list[str], *, old: str, new: str, factor: float | None, known: bool
) -> dict[str, GpuTimes] | None:
    """A job's times by type with the new one; None if nobody knows them.

    Empty for a job whose times are the same on all types, and stay so.
    """
    if job.times is None:
        if known:
            return {}
        if factor is None:
            return None
        forward, backward = job.milliseconds()
        plain = GpuTimes(forward_ms_per_sample=forward, backward_ms=backward)
        return dict.fromkeys(types, plain) | {new: _faster(plain, factor)}
    if new in job.times or old not in job.times:
        return job.times
    return None if factor is None else job.times | {new: _faster(job.times[old], factor)}


def _with_times(job: Job, times: dict[str, GpuTimes]) -> Job:
    if not times:
        return job
    neither = dict.fromkeys(("forward_ms_per_sample", "backward_ms"))
    return job.model_copy(update={"times": times, **neither})


def _faster(times: GpuTimes, factor: float) -> GpuTimes:
    return GpuTimes(
        forward_ms_per_sample=times.forward_ms_per_sample / factor,
        backward_ms=times.backward_ms / factor,
    )


def with_types_that_are_there(instance: Instance) -> Instance:
    """The instance without times on types that no server has any more.

    Raises
    ------
    UsageError
        If a job has no other times.
    """
    there = {server.gpu_type for server in instance.cluster.servers}
    stranded, jobs = [], []
    for job in instance.jobs:
        times = {name: one for name, one in (job.times or {}).items() if name in there}
        if job.times is not None and not times:
            stranded.append(job.name)
        jobs.append(job if len(times) == len(job.times or ()) else _with_times(job, times))
    if stranded:
        raise UsageError(f"jobs {listed(stranded)} run on no type of GPU that would be left")
    return instance.model_copy(update={"jobs": tuple(jobs)})


def faster_gpus(instance: Instance, _: str, text: str) -> Instance:
    """The instance with all compute times divided by a factor."""
    factor = factor_of(text)

    def faster(job: Job) -> Job:
        if job.times is not None:
            return _with_times(job, {k: _faster(one, factor) for k, one in job.times.items()})
        forward, backward = job.milliseconds()
        update = {"forward_ms_per_sample": forward / factor, "backward_ms": backward / factor}
        return job.model_copy(update=update)

    return instance.model_copy(update={"jobs": tuple(map(faster, instance.jobs))})


def price(instance: Instance, gpu_type: str, text: str) -> Instance:
    """The instance with another price of a GPU for an hour, of all GPUs or of a type.

    Raises
    ------
    UsageError
        If the text is malformed, or there is no price of which it is a factor.
    """
    amount, prices = amount_of(text, zero=True), instance.cluster.prices_per_gpu_hour
    new: float | dict[str, float]
    if gpu_type:
        if isinstance(prices, float | int):
            raise UsageError("all GPUs have one price; price=… changes it")
        before = (prices or {}).get(gpu_type)
        if before is None and amount.is_factor:
            raise UsageError(f"type {gpu_type!r} has no price; give a number instead of a factor")
        new = {**(prices or {}), gpu_type: amount.of(before or 0.0)}
    elif isinstance(prices, dict):
        if not amount.is_factor:
            raise UsageError("prices are by type, as in price.a100=2; or give a factor such as x2")
        new = {name: amount.of(one) for name, one in prices.items()}
    else:
        if prices is None and amount.is_factor:
            raise UsageError("there are no prices; give a number instead of a factor")
        new = amount.of(prices or 0.0)
    return with_cluster(instance, prices_per_gpu_hour=new)
