"""Trees of tenants, drawn; and their plainest reading."""

from __future__ import annotations

from random import Random
from typing import Any

from rarmodel.schema import Instance, Job


def random_tenants(random: Random, total: int, **caps: int) -> list[dict[str, Any]]:
    """Tenants t, u and v, perhaps one below another, of which some have caps and guarantees.

    Caps may be given by name.
    """
    tenants: list[dict[str, Any]] = []
    for i, name in enumerate(random.sample("tuv", 3)):
        tenant: dict[str, Any] = {"name": name}
        if i and random.random() < 0.6:
            tenant["parent"] = tenants[random.randrange(i)]["name"]
        if name in caps or random.random() < 0.4:
            tenant["gpus"] = caps.get(name, random.randint(1, total))
        if random.random() < 0.6:
            tenant["guaranteed"] = random.randint(0, tenant.get("gpus", total))
        tenants.append(tenant)
    random.shuffle(tenants)
    return tenants


def tenants_of(instance: Instance, job: Job) -> set[str]:
    """Names of a job's tenant, and of all tenants of which that is a part."""
    parent = {one.name: one.parent for one in instance.tenants}
    found, here = set[str](), job.tenant
    while here is not None:
        found.add(here)
        here = parent[here]
    return found
