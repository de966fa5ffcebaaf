"""Evaluations by the engine with and without the terms of real networks, beside another checkout.

Run: `python tests/benchmarks/network_terms.py [PYTHON]`, where PYTHON runs another checkout, which
need not know the terms. Each figure is the least processor time of several turns; checkouts take
turns, because machines are noisy.
"""

from __future__ import annotations

import json
import subprocess
import sys
from time import process_time
from typing import Any

TERMS: dict[str, dict[str, Any]] = {
    "none": {},
    "latency": {"latency_ms": 0.01},
    "overlap": {"overlap": 2.5},
    "cards": {"network_cards": 4},
    "all": {"latency_ms": 0.01, "overlap": 2.5, "network_cards": 4},
}
ROUNDS, TURNS, EVALUATIONS = 3, 7, 300


def microseconds(model: str, terms: dict[str, Any]) -> float:
    """Least processor time of an evaluation."""
    import numpy as np

    import rarmodel
    from rarmodel.engine import Engine, placements_of

    data = rarmodel.load_instance("paper-160").model_dump(mode="json", exclude_unset=True)
    data["contention"] |= {"model": model}
    for server in data["cluster"]["servers"]:
        server["gpus"] = 10_000  # Whatever is slower for the terms, no server is overfull.
    random = np.random.default_rng(0)
    for name, value in terms.items():
        if name == "network_cards":
            for server in data["cluster"]["servers"]:
                server[name] = value
        else:
            data["contention"][name] = value
    instance = rarmodel.Instance.model_validate(data)
    workers, starts = [], []
    for job in instance.jobs:
        used = min(job.size, int(random.integers(1, 5)))
        servers = random.permutation(len(instance.cluster.servers))[:used].tolist()
        workers.append({s: len(range(i, job.size, used)) for i, s in enumerate(servers)})
        starts.append(int(random.integers(0, 1_000)))
    engine, placements = Engine(instance), placements_of(workers)
    begun = np.array(starts)
    best = float("inf")
    for _ in range(TURNS):
        before = process_time()
        for _ in range(EVALUATIONS):
            engine.evaluate(begun, placements)
        best = min(best, process_time() - before)
    return 1e6 * best / EVALUATIONS


def figures(names: list[str]) -> dict[str, float]:
    """By model of contention and terms."""
    return {
        f"{model}, {name}": microseconds(model, TERMS[name])
        for model in ("count", "duty")
        for name in names
    }


def run_by(python: str, names: list[str]) -> dict[str, float]:
    """The figures of a checkout, from a process of its own."""
    command = [python, __file__, "--figures", *names]
    found: dict[str, float] = json.loads(subprocess.check_output(command, text=True))
    return found


def main() -> None:
    """Print the least figures of some rounds."""
    if sys.argv[1:2] == ["--figures"]:
        print(json.dumps(figures(sys.argv[2:])))
        return
    others: dict[str, float] = {}
    here: dict[str, float] = {}
    for _ in range(ROUNDS):
        for python in sys.argv[1:2]:
            for name, value in run_by(python, ["none"]).items():
                others[name] = min(value, others.get(name, value))
        for name, value in run_by(sys.executable, [*TERMS]).items():
            here[name] = min(value, here.get(name, value))
    for name, value in here.items():
        model = name.partition(",")[0]
        print(
            f"{name:16} {value:8.1f} µs  {value / here[f'{model}, none']:.3f} of none here"
            + (f"  {value / others[f'{model}, none']:.3f} of none there" if others else "")
        )


if __name__ == "__main__":
    main()
