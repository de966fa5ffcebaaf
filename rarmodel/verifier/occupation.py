"""Who holds each GPU, and when: its slices and its memory are enough for all (sections 4 and 15).

All that holds GPUs hands in holds, whatever it is: a job, a segment of one, a replica of a service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import inf
from typing import NamedTuple

from rarmodel.schema import Held, Instance, Job, Server

from .report import Violation
from .segments import runs_on
from .simulation_result import Run

NOTHING = Fraction(0)


class Hold(NamedTuple):
    """GPUs of one server that somebody holds from a slot until before another.

    Attributes
    ----------
    holder
        Number of who holds them; holds of one holder have the same. Violations come in this order.
    name
        Name of the job, or of what else holds them.
    server, gpus
        Name of the server, and indices of its GPUs.
    start, end
        The first slot, and the slot after the last; infinite for what never ends.
    slices
        Slices of each of these GPUs; None for all of it.
    memory_gb
        What the worker on each of these GPUs needs, exactly.
    running
        Whether it is held since before slot 0: then it stays whatever is reserved.
    what
        What holds them, in a word.
    """

    holder: int
    name: str
    server: str
    gpus: Sequence[int]
    start: int
    end: float
    slices: int | None = None
    memory_gb: Fraction = NOTHING
    running: bool = False
    what: str = "job"


def holds_of(sound: Sequence[tuple[Held, Run]], ends: Sequence[int | None]) -> list[Hold]:
    """What each run holds of each server; some end where they begin."""
    found = []
    for i, ((segment, run), end) in enumerate(zip(sound, ends, strict=True)):
        job, until = run.job, inf if end is None else end
        if job.slices is None and job.memory_gb is None and job.running is None:
            name, start = job.name, run.start
            found += [Hold(i, name, *item, start, until) for item in segment.gpus.items()]
        else:
            found += [hold_of(i, job, segment, server, until) for server in segment.gpus]
    return found


def hold_of(holder: int, job: Job, segment: Held, server: str, end: float) -> Hold:
    """What a segment holds of a server."""
    memory_gb = Fraction(repr(float(job.memory_gb))) if job.memory_gb else NOTHING
    ran = job.running is not None and runs_on(job, segment)
    gpus, start = segment.gpus[server], segment.start
    return Hold(holder, job.name, server, gpus, start, end, job.slices, memory_gb, ran)


def gpus_suffice(instance: Instance, holds: Sequence[Hold]) -> Iterator[Violation]:
    """In each slot the holds of a GPU fit it; without slices this is at most one holder, (2).

    Each hold fits its GPUs when it is alone there: see `fits_alone`.
    """
    lasting = [one for one in holds if one.end > one.start]
    if any(one.slices is not None for one in lasting):
        return _together(instance, lasting)
    return _one_at_a_time(lasting)


def fits_alone(instance: Instance, server: Server, hold: Hold) -> Iterator[Violation]:
    """A GPU has the slices and the memory that one hold takes of it."""
    who, slices = f"{hold.what} {hold.name!r}", instance.cluster.slices_of(server)
    if hold.slices is not None and hold.slices > slices:
        message = (
            f"{who} takes {_slices(hold.slices)} of each of its GPUs; those of server "
            f"{hold.server!r} have {slices}"
        )
        yield Violation("capacity", hold.name, hold.server, hold.start, message)
    memory = _memory(instance, server)
    if hold.memory_gb > memory:
        message = (
            f"{who} needs {_gb(hold.memory_gb)} on each of its GPUs; those of server "
            f"{hold.server!r} have {_gb(memory)}"
        )
        yield Violation("memory", hold.name, hold.server, hold.start, message)


def in_order(holds: Sequence[Hold]) -> list[Hold]:
    """Holds as they begin."""
    return sorted(holds, key=lambda one: (one.start, one.holder))


def _one_at_a_time(holds: Sequence[Hold]) -> Iterator[Violation]:
    """No two hold a GPU in the same slot."""
    # Of those that began so far, the one that holds each GPU longest.
    longest: dict[str, dict[int, Hold]] = {}
    shared: dict[tuple[int, str], tuple[Hold, dict[int, Hold]]] = {}
    for one in in_order(holds):
        holders = longest.setdefault(one.server, {})
        for gpu in one.gpus:
            other = holders.setdefault(gpu, one)
            if other is not one:
                if other.end > one.start:
                    place = one.holder, one.server
                    shared.setdefault(place, (one, {}))[1][gpu] = other
                if one.end > other.end:
                    holders[gpu] = one
    for _, (one, others) in sorted(shared.items(), key=lambda item: item[0]):
        yield _held_already(one, sorted(others), others.values())


def _held_already(one: Hold, gpus: Sequence[int], others: Iterable[Hold]) -> Violation:
    message = (
        f"{one.what} {one.name!r} takes {gpus_in_words(gpus)} of server {one.server!r} at slot "
        f"{one.start} while {_names(others)} still holds {'it' if len(gpus) == 1 else 'them'}"
    )
    return Violation("capacity", one.name, one.server, one.start, message)


class _Excess(NamedTuple):
    """GPUs on which one hold is too much."""

    gpus: list[int]
    others: list[Hold]
    taken: list[Fraction | int]


def _together(instance: Instance, holds: Sequence[Hold]) -> Iterator[Violation]:
    """The slices of those on a GPU add up to at most its slices, and their memory to its memory."""
    servers = {server.name: server for server in instance.cluster.servers}
    on: dict[tuple[str, int], list[Hold]] = {}
    for one in in_order(holds):
        server = servers[one.server]
        slices, memory = instance.cluster.slices_of(server), _memory(instance, server)
        wholly, partly, full = (_Excess([], [], []) for _ in range(3))
        for gpu in one.gpus:
            before = on.get((one.server, gpu), [])
            others = [other for other in before if other.end > one.start]
            on[one.server, gpu] = here = [*others, one]
            if not others:
                continue  # It fits alone.
            taken = sum(slices if other.slices is None else other.slices for other in here)
            if taken > slices:
                whole = any(other.slices is None for other in here)
                _add(wholly if whole else partly, gpu, others, taken)
            needed = sum((other.memory_gb for other in here), NOTHING)
            if one.memory_gb and needed > memory:
                _add(full, gpu, others, needed)
        if wholly.gpus:
            yield _held_already(one, sorted(wholly.gpus), wholly.others)
        if partly.gpus:
            more = f"they take {_slices(int(max(partly.taken)))} of a GPU that has {slices}"
            yield _too_much("capacity", one, partly, more)
        if full.gpus:
            more = f"they need {_gb(max(full.taken))} of a GPU that has {_gb(memory)}"
            yield _too_much("memory", one, full, more)


def _add(excess: _Excess, gpu: int, others: Iterable[Hold], taken: Fraction | int) -> None:
    excess.gpus.append(gpu)
    excess.others.extend(others)
    excess.taken.append(taken)


def _too_much(constraint: str, one: Hold, excess: _Excess, more: str) -> Violation:
    message = (
        f"{one.what} {one.name!r} takes {gpus_in_words(sorted(excess.gpus))} of server "
        f"{one.server!r} at slot {one.start} beside {_names(excess.others)}; together {more}"
    )
    return Violation(constraint, one.name, one.server, one.start, message)


def gpus_beside_running(holds: Iterable[Hold], slot: int) -> tuple[dict[int, Hold], frozenset[int]]:
    """GPUs of a server in a slot, those of running jobs apart.

    Parameters
    ----------
    holds
        The holds of one server.
    slot
        The slot.

    Returns
    -------
    tuple
        By index, each GPU on which others are, and no running job, with the hold there that began
        last; and the GPUs with a running job.
    """
    now = [one for one in holds if one.start <= slot < one.end]
    running = frozenset(gpu for one in now if one.running for gpu in one.gpus)
    others = {gpu: one for one in in_order(now) for gpu in one.gpus if gpu not in running}
    return others, running


def _memory(instance: Instance, server: Server) -> Fraction | float:
    """Memory of each GPU of a server in GB, exactly; infinite if there is no limit."""
    memory_gb = instance.cluster.memory_gb_of(server)
    return inf if memory_gb is None else Fraction(repr(float(memory_gb)))


def _names(holds: Iterable[Hold]) -> str:
    return ", ".join(sorted({repr(one.name) for one in holds}))


def _slices(number: int) -> str:
    return f"{number} slice{'s' * (number != 1)}"


def _gb(amount: Fraction | float) -> str:
    return f"{float(amount):.15g} GB"


def gpus_in_words(indices: Sequence[int]) -> str:
    """GPUs of a server by index, such as `GPUs 0, 3`."""
    shown = ", ".join(map(str, indices[:10]))
    more = f" and {len(indices) - 10} more" if len(indices) > 10 else ""
    return f"GPU{'s' if len(indices) > 1 else ''} {shown}{more}"
