"""Arguments of certificates with random numbers, changed to what the checker says is true.

So a liar would get false bounds through, if the checker let any through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

from wide_instances import OBJECTIVES

from rarmodel import Instance
from rarmodel.bounds.arguments import in_file
from rarmodel.checker import check, digest
from rarmodel.model.objectives import Value, objective
from rarmodel.schema.certificate import Certificate

Data = dict[str, Any]

REFUSED = re.compile(r"and it is (\S+) at (?:most|least)")
FOLLOWS = re.compile(r"and (\S+) is what follows")
WORTH = re.compile(r"and jobs worth (\d+) run")
MOST_LIES = 200


def greatest_proven(instance: Instance, name: str, argument: Data) -> Value | None:
    """The greatest bound that a liar gets through, who claims all that is not refused."""
    claim: Data = {"objective": name, "value": 10**9, "bound": "a lie", "argument": argument}
    data: Data = {"schema_version": 1, "instance": instance.name, "claims": [claim]}
    data["instance_sha256"] = digest(instance)
    for _ in range(MOST_LIES):
        found = check(instance, Certificate.model_validate(data)).findings[0]
        if found.outcome != "wrong":
            return Fraction(claim["value"]) if found.outcome == "proven" else None
        field = found.place.removeprefix("claims[0].").removeprefix("argument.")
        if follows := FOLLOWS.search(found.message):
            if follows[1] in {"inf", "-inf"}:
                return None
            claim["value"] = in_file(Fraction(follows[1]))
        elif worth := WORTH.search(found.message):
            argument[field] = int(worth[1])
        elif refused := REFUSED.search(found.message):
            number = in_file(Fraction(refused[1]))
            if field.startswith("dearest of"):
                size = int(field.split()[2])
                for one in argument["dearest"]:
                    if one["gpus"] == size:
                        one["dearest"] = number
            elif "." in field:
                *above, last = field.split(".")
                inner = argument
                for key in above:
                    inner = inner[key]
                inner[last] = number
            else:
                argument[field] = number
        else:
            return None
    raise AssertionError(found)


def random_prices(random: Random, instance: Instance, *, refuting: bool) -> Data:
    """Prices of GPUs over time, and jobs that pay more than they can."""
    edges = sorted(random.sample(range(9), random.randint(2, 4)))
    of = random_shared(random, instance)
    names = [server.name for server in instance.cluster.servers]
    cut = random.randint(0, len(names))
    kinds = [some for some in (names[:cut], names[cut:]) if some]
    rounded = {}
    if of:
        kinds = [names]
    elif random.random() < 0.4:
        kinds, edges = [names], edges[:2]
        what = random.choice(["gpus", "slots"])
        whole = instance.cluster.total_gpus if what == "gpus" else edges[1] - edges[0]
        rounded = {"rounded": {"what": what, "threshold": random.randint(1, (whole + 1) // 2)}}
    return {
        "kind": "prices",
        **of,
        **({"below": random.randint(0, 6)} if refuting else {"scale": random.choice([1, 2, 12])}),
        "edges": edges,
        "kinds": [
            {"servers": some, "prices": [random.randint(0, 3) for _ in edges[1:]]} for some in kinds
        ],
        **rounded,
        "least": {job.name: 10**6 for job in instance.jobs},
        "room": 0,
    }


def random_shared(random: Random, instance: Instance) -> Data:
    """GPUs, or something else that jobs may share, as the field of an argument."""
    names = [job.name for job in instance.jobs]
    some = random.sample(names, random.randint(1, len(names)))
    every: list[Data] = [{"kind": "exclusive-jobs", "jobs": some}]
    every += [{"kind": "resource", "name": one.name} for one in instance.resources]
    every += [{"kind": "tenant", "name": one.name} for one in instance.tenants]
    return {"of": random.choice(every)} if random.random() < 0.6 else {}


def random_states(random: Random, instance: Instance) -> Data:
    """Prices of what rings do in a slot."""

    def states(most: int) -> list[Data]:
        shapes = [(w, n, p) for w in range(1, most + 1) for n in range(1, w + 1) for p in (1, 2, 3)]
        some = random.sample(shapes, random.randint(0, len(shapes)))
        return [
            {"gpus": w, "servers": n, "rings": p, "price": random.randint(0, 9)} for w, n, p in some
        ]

    return {
        "kind": "slot-prices",
        "length": random.randint(1, 8),
        "jobs": {
            job.name: {"states": states(job.sizes[-1]), "least": 10**6} for job in instance.jobs
        },
        "dearest": 0,
    }


def random_contents(random: Random, instance: Instance) -> Data:
    """Prices of what servers hold."""
    largest = instance.cluster.largest_server
    shared: Data = {"sharing": random_pieces(random, largest)}
    if random.random() < 0.6:
        shared = {
            "rings": [
                {"job": job.name, "gpus": w, "servers": n, "price": random.randint(0, 15)}
                for job in instance.jobs
                for w in job.sizes
                for n in range(2, w + 1)
            ]
        }
    return {
        "kind": "server-prices",
        "length": random.randint(1, 8),
        "packed": random_pieces(random, largest),
        "lone": random_pieces(random, largest),
        **shared,
        "least": {job.name: 10**6 for job in instance.jobs},
        "dearest": [
            {"gpus": gpus, "dearest": 0}
            for gpus in sorted({server.gpus for server in instance.cluster.servers})
        ],
        "excess": 0,
    }


def random_pieces(random: Random, largest: int) -> list[Data]:
    return [{"gpus": w, "price": random.randint(0, 9)} for w in range(1, largest + 1)]


def random_lanes(random: Random, instance: Instance) -> Data:
    """Prices of workers."""
    return {
        "kind": "lane-prices",
        "length": random.randint(1, 8),
        "prices": {job.name: random.randint(0, 9) for job in instance.jobs},
        "dearest": [
            {"gpus": gpus, "dearest": 0}
            for gpus in sorted({server.gpus for server in instance.cluster.servers})
        ],
    }


def random_others(random: Random, instance: Instance) -> Iterator[tuple[str, Data]]:
    """Arguments with fewer numbers to choose."""
    names = [job.name for job in instance.jobs]
    large = dict.fromkeys(names, 10**6)
    for name in OBJECTIVES:
        yield name, {"kind": "each-job", "least": dict(large)}
        rule = random.choice(["shortest-first", "heaviest-first"])
        some = random.sample(names, random.randint(1, len(names)))
        for jobs in (names, some):
            machine = {"kind": "one-machine", "rule": rule, "jobs": jobs, "completions": 10**6}
            yield name, machine
            yield name, machine | random_shared(random, instance)
    length = random.randint(1, 8)
    yield "makespan", {"kind": "shared-links", "length": length, "taken": dict(large)}
    width = random.randint(1, instance.cluster.largest_server)
    gaps = {"kind": "wide-gaps", "length": length, "width": width, "busy_or_idle": 10**6}
    yield "makespan", gaps


def lies(random: Random, instance: Instance) -> Iterator[tuple[str, Data]]:
    """Arguments with random numbers, and the objective that they are about."""
    yield from random_others(random, instance)
    for name in OBJECTIVES[:-2]:
        refuting = objective(name).greatest
        yield name, random_prices(random, instance, refuting=refuting)
    for make in (random_states, random_contents, random_lanes):
        for _ in range(3):
            yield "makespan", make(random, instance)
