"""Processor time to refute one slot less than the optimum on equal racks, with their order or not.

`python tests/benchmarks/equal_racks.py 23 28 40 [--seconds S]`, with seeds. Nine jobs of 1 to 4
GPUs on four servers of two, in two racks; HiGHS solves `time-indexed` on one thread.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from time import process_time
from unittest.mock import patch

import rarmodel
from rarmodel.exact.formulate import scope_for
from rarmodel.files import parse_instance
from rarmodel.formulations import Scope, symmetry
from rarmodel.formulations.symmetry import ServerOrder, server_order
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.solvers.highs import HIGHS

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from random_instances import random_instance


def racks(seed: int) -> Instance:
    """A random instance; its slots are long enough for rings on servers of one GPU."""
    random = Random(seed)
    star = random_instance(random, jobs=9, servers=4, tree=False, most_gpus=1, most_slots=4)
    parents = {"s0": "r0", "s1": "r0", "s2": "r1", "s3": "r1", "r0": "core", "r1": "core"}
    data = star.model_dump(mode="json", exclude_unset=True)
    for server in data["cluster"]["servers"]:
        server["gpus"] = 2
    data["cluster"]["network"] = {
        "kind": "tree",
        "links": [{"node": n, "parent": p, "gbps": 10.0} for n, p in parents.items()],
    }
    return parse_instance(data)


def servers_only(scope: Scope) -> ServerOrder:
    """The order of equal servers without that of racks."""
    order = server_order(scope)
    return replace(order, groups=tuple(one for one in order.groups if len(one[0]) == 1))


def main(options: argparse.Namespace) -> None:
    """Print a row for each seed."""
    print("| seed | optimum | servers in order | racks too |\n|---|---|---|---|")
    for seed in options.seeds:
        instance = racks(seed)
        found = rarmodel.solve(instance, method="search", time_limit=5, objective=["makespan"])
        if found.status != "optimal" or found.makespan is None:
            continue
        scope = scope_for(instance, TIME_INDEXED, found.makespan - 1)
        cells = []
        for order in (servers_only, server_order):
            with patch.object(symmetry, "server_order", order):
                model = TIME_INDEXED.build(scope)
            begun = process_time()
            answer = HIGHS.solve(model, Limits(time_limit=options.seconds, threads=1))
            cells.append(f"{process_time() - begun:.1f} s, {answer.termination}")
        print(f"| {seed} | {found.makespan} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="+", type=int)
    parser.add_argument("--seconds", type=float, default=300.0)
    main(parser.parse_args())
