"""Whose jobs they are: tenants, which may be parts of others (model, sections 9 and 18)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rarmodel.errors import Problem

from .base import Count, Name, NonNegativeInteger, Record, repeated_names


class Tenant(Record):
    """Whose jobs they are: a group, a user, or a part of one."""

    name: Name
    """Unique name of the tenant."""

    parent: Name | None = None
    """The tenant of which it is a part; by default it is a part of none."""

    gpus: Count | None = None
    """The most GPUs that the jobs of the tenant, and of all below it, may hold at once; by default
    no such cap."""

    guaranteed: NonNegativeInteger | None = None
    """GPUs that the tenant, with all below it, may take back online from those that hold more than
    theirs; by default none. At most `gpus`. Offline nothing rests on it."""


def lineages(tenants: Sequence[Tenant]) -> Mapping[str, tuple[str, ...]]:
    """By name, each tenant and all above it, from itself up to the one that has no parent."""
    parent = {one.name: one.parent for one in tenants}
    found: dict[str, tuple[str, ...]] = {}
    for name in parent:
        path: list[str] = []
        here: str | None = name
        while here is not None and here not in found:
            path.append(here)
            here = parent[here]
        above = () if here is None else found[here]
        for one in reversed(path):
            above = (one, *above)
            found[one] = above
    return found


def tenant_paths(tenants: Sequence[Tenant]) -> Mapping[str, str]:
    """By name, each tenant behind all above it, such as `lab / vision`."""
    return {name: " / ".join(reversed(path)) for name, path in lineages(tenants).items()}


def problems_of_tenants(tenants: Sequence[Tenant]) -> Iterator[Problem]:
    """Names that two have, parents that are not there, cycles, and guarantees above caps."""
    for i, name in repeated_names(one.name for one in tenants):
        yield Problem(f"[{i}].name", f"{name!r} names two tenants; names must be unique")
    index = {one.name: i for i, one in enumerate(tenants)}
    for i, one in enumerate(tenants):
        if one.parent is not None and one.parent not in index:
            yield Problem(f"[{i}].parent", f"{one.parent!r}; tenants lists no such name")
        if None not in (one.gpus, one.guaranteed) and (one.guaranteed or 0) > (one.gpus or 0):
            message = f"{one.guaranteed}; it must be at most gpus, {one.gpus}"
            yield Problem(f"[{i}].guaranteed", message)
    yield from _cycles(tenants, index)


def _cycles(tenants: Sequence[Tenant], index: Mapping[str, int]) -> Iterator[Problem]:
    """One line for each cycle of tenants that are parts of each other."""
    done = set[int]()
    for first in range(len(tenants)):
        path: dict[int, None] = {}
        here: int | None = first
        while here is not None and here not in done and here not in path:
            path[here] = None
            here = index.get(tenants[here].parent or "")
        if here in path:
            some = [*path]
            cycle = some[some.index(here) :]
            names = [tenants[i].name for i in (*cycle, here)]
            told = " → ".join(map(repr, names))
            yield Problem(
                f"[{cycle[-1]}].parent", f"a cycle, {told}; no tenant can be a part of itself"
            )
        done.update(path)
