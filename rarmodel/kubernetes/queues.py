"""Queues as tenants: Kueue's ClusterQueues and Cohorts, Volcano's Queues, quotas of namespaces.

A ClusterQueue may use its nominal quota and what others of its cohort lend. Its cap is the most
that Kueue would ever let it use, `guaranteed` its nominal quota. The sum is over all flavors and
all resources that are GPUs; the model has one cap for a tenant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from .gpus import WHOLE
from .node_choice import FlavorNodes
from .quantities import quantity
from .schema import (
    Amounts,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    ResourceGroup,
    VolcanoQueue,
)

STOPPED = {"Hold", "HoldAndDrain"}
_ROOT = "root"
"""Volcano's queue above all others."""


class Queue(NamedTuple):
    """A queue that jobs are in.

    Attributes
    ----------
    tenant
        Name of its tenant.
    flavors
        By resource, the nodes that its quotas are for; None if it has no quotas by flavor.
    stopped
        Whether it takes no jobs.
    """

    tenant: str
    flavors: Mapping[str, Sequence[FlavorNodes]] | None
    stopped: bool


class Tenant(NamedTuple):
    """A tenant of the instance.

    Attributes
    ----------
    name, parent
        Its name, and that of the tenant of which it is a part.
    cap, guaranteed
        GPUs that it may hold at most, and that it may always have; None without such a number.
    """

    name: str
    parent: str | None
    cap: int | None
    guaranteed: int | None


class Quota(NamedTuple):
    """GPUs of a queue or a cohort.

    Attributes
    ----------
    nominal
        Its own.
    borrows
        How many more it may use at most; None for any number.
    lends
        How many of its own others may use at most.
    """

    nominal: Fraction
    borrows: Fraction | None
    lends: Fraction | None


class Queues(NamedTuple):
    """All queues.

    Attributes
    ----------
    tenants
        Tenants by name.
    local
        The ClusterQueue of each LocalQueue, by namespace and name; those that are stopped.
    cluster, volcano
        Queues by name.
    """

    tenants: Mapping[str, Tenant]
    local: Mapping[tuple[str, str], LocalQueue]
    cluster: Mapping[str, Queue]
    volcano: Mapping[str, Queue]

    def caps(self, tenant: str) -> Iterable[tuple[str, int]]:
        """The tenant and all above it that have caps, with these."""
        here: str | None = tenant
        while here is not None and here in self.tenants:
            one = self.tenants[here]
            if one.cap is not None:
                yield here, one.cap
            here = one.parent


def queues_of(
    cluster_queues: Sequence[ClusterQueue],
    cohorts: Sequence[Cohort],
    local_queues: Sequence[LocalQueue],
    flavors: Sequence[ResourceFlavor],
    volcano: Sequence[VolcanoQueue],
) -> Queues:
    """The queues of a cluster, and their tenants.

    Raises
    ------
    ValueError
        If a quota is no quantity.
    """
    tenants: dict[str, Tenant] = {}
    names = _Names()
    kinds = {one.metadata.name: one for one in flavors}
    parent, quota = _tree(cluster_queues, cohorts)
    caps = caps_of(parent, quota)
    for key in sorted(quota):
        above = parent.get(key)
        tenants[names.of(*key)] = Tenant(
            names.of(*key),
            None if above is None else names.of(*above),
            int(caps[key]),
            min(int(quota[key].nominal), int(caps[key])) if key[0] == "queue" else None,
        )
    cluster = {
        one.metadata.name: Queue(
            names.of("queue", one.metadata.name),
            _flavors(one.spec.resource_groups, kinds),
            one.spec.stop_policy in STOPPED,
        )
        for one in cluster_queues
    }
    found = {}
    known = {one.metadata.name for one in volcano}
    for one in sorted(volcano, key=lambda one: one.metadata.name):
        if (name := one.metadata.name) == _ROOT:
            continue
        above_it = one.spec.parent
        tenant = names.of("volcano", name)
        cap = _gpus(one.spec.capability)
        sure = _gpus(one.spec.deserved) or _gpus(one.spec.guarantee.resource)
        tenants[tenant] = Tenant(
            tenant,
            names.of("volcano", above_it) if above_it in known - {_ROOT, name} else None,
            None if cap is None else int(cap),
            None if sure is None else int(sure if cap is None else min(sure, cap)),
        )
        found[name] = Queue(tenant, None, one.status.state in {"Closed", "Closing"})
    return Queues(
        _without_cycles(tenants),
        {(one.metadata.namespace, one.metadata.name): one for one in local_queues},
        cluster,
        found,
    )


class _Names:
    """Names of tenants, as a queue and a cohort may have the same."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, str]] = {}

    def of(self, kind: str, name: str) -> str:
        """The tenant's name."""
        told = name
        while self._taken.setdefault(told, (kind, name)) != (kind, name):
            told = f"{kind} {told}"
        return told


def _tree(
    cluster_queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort]
) -> tuple[dict[tuple[str, str], tuple[str, str]], dict[tuple[str, str], Quota]]:
    """What is above each queue and each cohort, and their quotas."""
    parent: dict[tuple[str, str], tuple[str, str]] = {}
    quota: dict[tuple[str, str], Quota] = {}
    for queue in cluster_queues:
        key = "queue", queue.metadata.name
        quota[key] = quota_of(queue.spec.resource_groups)
        if above := queue.spec.cohort_name or queue.spec.cohort:
            parent[key] = "cohort", above
    for cohort in cohorts:
        key = "cohort", cohort.metadata.name
        quota[key] = quota_of(cohort.spec.resource_groups)
        if above := cohort.spec.parent_name or cohort.spec.parent:
            parent[key] = "cohort", above
    for above_it in [*parent.values()]:
        quota.setdefault(above_it, Quota(Fraction(0), None, None))  # Named by others only.
    for key in sorted(parent):  # Kueue stops cohorts that are above themselves.
        seen, here = {key}, parent.get(key)
        while here is not None and here not in seen:
            seen.add(here)
            here = parent.get(here)
        if here is not None:
            del parent[key]
    return parent, quota


def quota_of(groups: Iterable[ResourceGroup]) -> Quota:
    """GPUs of all flavors together.

    Raises
    ------
    ValueError
        If one is no quantity.
    """
    some = [
        one
        for group in groups
        for flavor in group.flavors
        for one in flavor.resources
        if one.name in WHOLE
    ]
    nominal = [quantity(one.nominal_quota) for one in some]
    borrows = [one.borrowing_limit for one in some]
    lends = [one.lending_limit for one in some]
    return Quota(
        sum(nominal, Fraction(0)),
        None if None in borrows or not some else _sum(borrows),
        None
        if all(one is None for one in lends)
        else sum(
            (
                n if one is None else min(n, quantity(one))
                for n, one in zip(nominal, lends, strict=True)
            ),
            Fraction(0),
        ),
    )


def _sum(amounts: Iterable[str | float | None]) -> Fraction:
    return sum((quantity(one) for one in amounts if one is not None), Fraction(0))


Tree = Mapping[tuple[str, str], tuple[str, str]]


def caps_of(
    parent: Tree, quota: Mapping[tuple[str, str], Quota]
) -> dict[tuple[str, str], Fraction]:
    """The most GPUs that each queue, or all queues of each cohort, may ever use.

    A queue or cohort lends what its lending limit lets it; the rest is its own. It may use its own,
    and what the cohort above it can get, up to its borrowing limit.
    """
    order = sorted(quota, key=lambda key: (_depth(key, parent), key))
    there = {key: one.nominal for key, one in quota.items()}
    all_below, lent = dict(there), dict(there)
    for key in reversed(order):  # From the queues upward: what each has with those below it.
        lends = quota[key].lends
        lent[key] = there[key] if lends is None else min(there[key], lends)
        if key in parent:
            there[parent[key]] += lent[key]
            all_below[parent[key]] += all_below[key]
    borrowed = dict.fromkeys(quota, Fraction(0))
    for key in order:  # And down again: what each can get from above.
        if key in parent:
            above, limit = parent[key], quota[key].borrows
            most = there[above] + borrowed[above] - lent[key]
            borrowed[key] = max(Fraction(0), most if limit is None else min(most, limit))
    return {key: all_below[key] + borrowed[key] for key in quota}


def _depth(key: tuple[str, str], parent: Tree) -> int:
    depth = 0
    while key in parent:
        key, depth = parent[key], depth + 1
    return depth


def _flavors(
    groups: Iterable[ResourceGroup], known: Mapping[str, ResourceFlavor]
) -> dict[str, list[FlavorNodes]]:
    found: dict[str, list[FlavorNodes]] = defaultdict(list)
    for group in groups:
        for flavor in group.flavors:
            own = known.get(flavor.name)
            for resource in flavor.resources:
                labels = own.spec.node_labels if own else {}
                tolerations = own.spec.tolerations if own else ()
                found[resource.name].append(FlavorNodes(labels, tolerations))
    return dict(found)


def _gpus(amounts: Amounts) -> Fraction | None:
    some = [quantity(amounts[name]) for name in WHOLE if name in amounts]
    return sum(some, Fraction(0)) if some else None


def _without_cycles(tenants: Mapping[str, Tenant]) -> dict[str, Tenant]:
    """The same, where a tenant that is above itself has no parent."""
    found = dict(tenants)
    for name in sorted(tenants):
        seen, here = {name}, found[name].parent
        while here is not None and here in found and here not in seen:
            seen.add(here)
            here = found[here].parent
        if here is not None and here in seen:
            found[name] = found[name]._replace(parent=None)
    return found


def rows(tenants: Iterable[Tenant]) -> list[dict[str, Any]]:
    """Tenants as the instance has them; one without any quota has no cap, as caps are above 0."""
    return [
        {
            key: value
            for key, value in (
                ("name", one.name),
                ("parent", one.parent),
                ("gpus", one.cap or None),
                ("guaranteed", one.guaranteed),
            )
            if value is not None
        }
        for one in tenants
    ]
