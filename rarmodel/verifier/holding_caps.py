"""How many GPUs jobs may hold at once: reservations of servers and caps of tenants (section 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import NamedTuple

from rarmodel.schema import Held, Instance

from .report import Violation
from .segments import runs_on
from .simulation_result import Run


class Stay(NamedTuple):
    """A job holds GPUs from a slot until before another."""

    start: int
    end: float
    gpus: int
    job: str
    running: bool
    """Whether it has held them since slot 0: then it keeps them whatever the cap."""


def caps_kept(
    instance: Instance, sound: Sequence[tuple[Held, Run]], ends: Sequence[int | None]
) -> Iterator[Violation]:
    """Reservations and quotas, against what jobs hold.

    Parameters
    ----------
    instance
        The problem.
    sound, ends
        What is carried out, and when each gives its GPUs back; None for what never does.
    """
    capped = any(tenant.gpus is not None for tenant in instance.tenants)
    if not capped and not instance.cluster.reservations:
        return
    by_server: dict[str, list[Stay]] = {}
    by_tenant: dict[str, list[Stay]] = {}
    for (segment, run), end in zip(sound, ends, strict=True):
        job = run.job
        until = inf if end is None else end
        if until == run.start:  # The job had completed.
            continue
        ran = runs_on(job, segment)
        for server, gpus in segment.gpus.items():
            stay = Stay(run.start, until, len(gpus), job.name, ran)
            by_server.setdefault(server, []).append(stay)
            if job.tenant is not None:
                by_tenant.setdefault(job.tenant, []).append(stay)
    for server, caps in _reserved(instance).items():
        for slot, job_name, held, room in _exceeded(caps, by_server.get(server, ())):
            message = (
                f"at slot {slot} jobs hold {held} GPUs of server {server!r}; reservations and "
                f"running jobs leave {room}"
            )
            yield Violation("reservation", job_name, server, slot, message)
    for tenant in instance.tenants:
        if tenant.gpus is not None:
            stays = by_tenant.get(tenant.name, ())
            for excess in _exceeded({0: tenant.gpus}, stays):
                message = (
                    f"at slot {excess.slot} jobs of tenant {tenant.name!r} hold {excess.held} "
                    f"GPUs; its cap and its running jobs leave {excess.left}"
                )
                yield Violation("quota", excess.job, None, excess.slot, message)


def _reserved(instance: Instance) -> dict[str, dict[int, float]]:
    """By server, what reservations leave of it from which slot on; no cap where none holds."""
    sizes = {server.name: server.gpus for server in instance.cluster.servers}
    changes: dict[str, Counter[int]] = {}
    for one in instance.cluster.reservations:
        steps = changes.setdefault(one.server, Counter())
        steps[one.start] += one.gpus
        if one.end is not None:
            steps[one.end] -= one.gpus
    caps: dict[str, dict[int, float]] = {}
    for server, steps in changes.items():
        slots = sorted(steps)
        away = accumulate(steps[slot] for slot in slots)
        left = (sizes[server] - gpus if gpus else inf for gpus in away)
        caps[server] = dict(zip(slots, left, strict=True))
    return caps


class Excess(NamedTuple):
    """More is held than is left."""

    slot: int
    """The first slot in which."""
    job: str
    """The job that began last."""
    held: int
    """GPUs that jobs hold then."""
    left: float
    """GPUs that the cap and the jobs that ran at slot 0 leave."""


def _exceeded(caps: Mapping[int, float], stays: Iterable[Stay]) -> Iterator[Excess]:
    """Where jobs hold more than is left; those that ran at slot 0 only leave less.

    Parameters
    ----------
    caps
        GPUs that may be held, from which slot on.
    stays
        Who holds how many, and when.
    """
    begins = sorted(stays)
    ends = sorted((stay.end, stay.running, stay.gpus) for stay in begins if stay.end < inf)
    slots = {*caps, *(stay.start for stay in begins), *(int(end) for end, _, _ in ends)}
    cap, held, running, begun, ended = inf, 0, 0, 0, 0
    exceeded = False
    for slot in sorted(slots):
        cap = caps.get(slot, cap)
        while ended < len(ends) and ends[ended][0] <= slot:
            _, ran, gpus = ends[ended]
            held, running = (held, running - gpus) if ran else (held - gpus, running)
            ended += 1
        while begun < len(begins) and begins[begun].start <= slot:
            gpus = begins[begun].gpus
            if begins[begun].running:
                running += gpus
            else:
                held += gpus
            begun += 1
        left = max(0, cap - running)
        if held > left and not exceeded:
            last = next(
                stay for stay in reversed(begins[:begun]) if stay.end > slot and not stay.running
            )
            yield Excess(slot, last.job, held, left)
        exceeded = held > left
