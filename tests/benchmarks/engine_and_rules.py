"""The engine beside the same algorithm in C++, how every rule grows, and files and start-up.

Run: `python tests/benchmarks/engine_and_rules.py`, with `--against PATH` beside another checkout
of rarmodel, or with `--cold` with the time of compilation as well.

Each table is of one run, in which what is compared takes turns; the ratio is what to compare. The
yardstick `engine.cpp` gets the engine's own tables, and its completion times must be equal. It
needs `g++`; without one its column stays empty. A schedule is sparse where jobs keep to few servers
(SJF-BCO), dense where they spread over many (at random). Dispatching rules also run on instances
with features: arrivals and two types of GPU, and deadlines and reservations besides.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import numpy as np
from heuristics_and_engine import as_arrays, scaled_instance

from rarmodel.engine import Engine, Placements
from rarmodel.engine.arrays import NEVER, Arrays, Ints, State
from rarmodel.engine.compilation import compiled
from rarmodel.files import parse_instance, parse_schedule, to_json
from rarmodel.heuristics import (
    Policy,
    estimate,
    first_fit,
    list_scheduling,
    make_sjf_bco,
    random_placement,
    run_policy,
    sjf_bco,
    sjf_bco_occupied_first,
)
from rarmodel.heuristics.clock import ListScheduler
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.verifier import verify

try:
    from rarmodel import lists
except ImportError:  # An older checkout.
    KINDS: tuple[str, ...] = ()
else:
    KINDS = ("plain", "arrivals and types", "deadlines and reservations")

simulate = importlib.import_module("rarmodel.engine.evaluate").simulate
SIZES = (160, 1_000, 3_000, 10_000)
ENGINE = {"sparse": make_sjf_bco(kappas=lambda _: [8]), "dense": random_placement}
RULES: dict[str, tuple[Policy, tuple[float, ...]]] = {
    "first-fit": (first_fit, ()),
    "list-scheduling": (list_scheduling, ()),
    "random": (random_placement, (0.0,)),
    "FA-FFP": (sjf_bco, (32.0, 1.0, 1.0)),
    "FA-FFP, occupied first": (sjf_bco_occupied_first, (32.0, 1.0, 2.0)),
    "SJF-BCO, κ = 1: LBSGF": (sjf_bco, (1.0, 1.0, 1.0)),
}
"""Each with the parameters of one list schedule, and no limit that binds."""
DISPATCH = ("first_come_first_served", "shortest_first")
HELP = ["-m", "rarmodel", "--help"]
FILES = 10_000
"""Jobs in the files that are read, verified and written."""


def _evaluated(
    arrays: Arrays,
    state: State,
    order: Ints,
    modes: Ints,
    starts: Ints,
    placements: Placements,
    limit: int,
    completed: Ints,
) -> Any:
    """Evaluate one schedule."""
    at, server, workers = placements
    return simulate(arrays, state, order, modes, starts, at, server, workers, limit, completed)


def _evaluated_without_modes(
    arrays: Arrays,
    state: State,
    order: Ints,
    _: Ints,
    starts: Ints,
    placements: Placements,
    limit: int,
    completed: Ints,
) -> Any:
    """The same in older checkouts."""
    at, server, workers = placements
    return simulate(arrays, state, order, starts, at, server, workers, limit, completed)


with_modes = "modes" in signature(simulate.py_func).parameters
evaluated = compiled(_evaluated if with_modes else _evaluated_without_modes, inner=True)


@compiled
def repeated(
    times: int,
    arrays: Arrays,
    state: State,
    order: Ints,
    modes: Ints,
    starts: Ints,
    placements: Placements,
    limit: int,
    completed: Ints,
) -> int:
    """Evaluate one schedule several times."""
    makespan = 0
    for _ in range(times):
        makespan = evaluated(arrays, state, order, modes, starts, placements, limit, completed)
    return makespan


def cluster_of(jobs: int) -> Instance:
    return scaled_instance(jobs, 20 if jobs == SIZES[0] else jobs // 10)


def least_seconds(work: list[Callable[[], object]], turns: int = 7) -> list[float]:
    """The least time of each after one that is not counted; they take turns."""
    least = [math.inf] * len(work)
    for turn in range(turns + 1):
        for i, each in enumerate(work):
            begun = perf_counter()
            each()
            if turn:
                least[i] = min(least[i], perf_counter() - begun)
    return least


def built(folder: str) -> ctypes.CDLL | None:
    """The yardstick; None where there is no compiler."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    library = Path(folder) / "engine.so"
    source = Path(__file__).with_name("engine.cpp")
    subprocess.run(
        [compiler, "-std=c++17", "-O3", "-shared", "-fPIC", source, "-o", library], check=True
    )
    loaded = ctypes.CDLL(str(library))
    loaded.make.restype = ctypes.c_void_p
    loaded.run.restype = ctypes.c_int64
    return loaded


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def evaluation(jobs: int, policy: Policy, yardstick: ctypes.CDLL | None) -> dict[str, Any]:
    """Seconds of one evaluation here and in C++, and a digest of the completion times."""
    instance = cluster_of(jobs)
    found = run_policy(instance, policy, stop=lambda _: True)
    assert found is not None
    starts, placements = as_arrays(instance, found.schedule)
    engine = Engine(instance)
    completed = np.zeros(jobs, np.int64)
    completion = engine.evaluate(starts, placements).completion
    order = np.argsort(starts, kind="stable")
    times = max(1, 4_000 // jobs)

    modes = np.arange(jobs)

    def here() -> None:
        memory = engine.arrays, engine.state
        repeated(times, *memory, order, modes, starts, placements, NEVER, completed)

    work: list[Callable[[], object]] = [here]
    if yardstick is not None:
        work.append(in_cpp(yardstick, engine, order, starts, placements, completion, times))
    seconds = [least / times for least in least_seconds(work, 40)]
    return {"seconds": seconds, "digest": hashlib.sha256(completion.tobytes()).hexdigest()}


def in_cpp(
    yardstick: ctypes.CDLL,
    engine: Engine,
    order: Ints,
    starts: Ints,
    placements: Placements,
    completion: Ints,
    times: int,
) -> Callable[[], object]:
    """The same evaluations by the yardstick, whose completion times are equal."""
    a = engine.arrays
    simulation = ctypes.c_void_p(
        yardstick.make(
            ctypes.c_double(a.slot_seconds),
            ctypes.c_double(a.overhead_ms_per_server),
            *(ctypes.c_int64(n) for n in (len(a.modes), len(a.server_gpus), len(a.row_at) - 1)),
            *map(pointer, (a.modes, a.packed, a.server_gpus, a.path_at, a.path)),
            *map(pointer, (a.member_at, a.row_at, a.share)),
        )
    )
    finish = np.zeros(len(order), np.int64)
    tables = [*map(pointer, (order, starts, *placements)), ctypes.c_int64(NEVER)]

    def run() -> None:
        yardstick.run(simulation, *tables, ctypes.c_int64(times), pointer(finish))

    run()
    if not (finish == completion).all():
        raise SystemExit("engine.cpp gives other completion times")
    return run


def list_schedule(jobs: int, policy: Policy, parameters: tuple[float, ...]) -> dict[str, Any]:
    """Seconds of one list schedule, and a digest of its starts and GPUs."""
    instance = cluster_of(jobs)
    scheduler = ListScheduler(instance, estimate(instance).work)
    order, values = np.array(policy.order(instance), np.int64), np.array(parameters, np.float64)

    def run() -> None:
        assert scheduler.run(policy.rule, values, order, 1e6) > 0

    run()
    digest = hashlib.sha256()
    for start, gpus in scheduler.assignments():
        digest.update(np.array([start, *gpus]).tobytes())
    turns = 5 if jobs > 1_000 else 20
    return {"seconds": least_seconds([run], turns), "digest": digest.hexdigest()}


def with_features(instance: Instance, kind: str) -> Instance:
    """The instance with features."""
    if kind == KINDS[0]:
        return instance
    random = Random(0)
    data = instance.model_dump(mode="json", exclude_unset=True)
    jobs, servers = data["jobs"], data["cluster"]["servers"]
    del data["time"]["horizon"]
    for server in servers:
        server["gpu_type"] = random.choice(["A100", "V100"])
    for job in jobs:
        job["release"] = random.randrange(300)
        forward, backward = job.pop("forward_ms_per_sample"), job.pop("backward_ms")
        job["times"] = {
            kind: {"forward_ms_per_sample": factor * forward, "backward_ms": factor * backward}
            for kind, factor in (("A100", 0.6), ("V100", 1.0))
        }
    if kind == KINDS[2]:
        for job in random.sample(jobs, len(jobs) // 10):
            job["deadline"] = 5_000
        data["cluster"]["reservations"] = [
            {"server": server["name"], "gpus": server["gpus"] // 2, "from": at, "to": at + 50}
            for at in (100, 300)
            for server in random.sample(servers, len(servers) // 10)
        ]
    return parse_instance(data)


def dispatched(jobs: int, kind: str, name: str) -> dict[str, Any]:
    """Seconds of one list schedule of a dispatching rule, and a digest of starts and places."""
    schedules = importlib.import_module("rarmodel.lists.list_schedules")
    instance = with_features(cluster_of(jobs), kind)
    made = schedules.ListSchedules(instance)
    order = np.array(getattr(lists, name).order(instance), np.int64)

    def run() -> None:
        assert made.made(order)

    run()
    digest = hashlib.sha256(made.partial.starts.tobytes() + made.partial.server.tobytes())
    turns = 5 if jobs > 1_000 else 20
    return {"seconds": least_seconds([run], turns), "digest": digest.hexdigest()}


def annealed(kind: str) -> dict[str, Any]:
    """Seconds of a move of the search on wider instances: a list schedule and its value."""
    wide = importlib.import_module("rarmodel.lists.order_search")
    search = wide.OrderSearch(with_features(cluster_of(SIZES[0]), kind), Limits(threads=1), "")
    least = least_seconds([lambda: search._step(0)])
    return {"seconds": [least[0] / search._moves]}


def files() -> dict[str, dict[str, Any]]:
    """Seconds to read, solve, verify and write files of plain jobs."""
    instance = cluster_of(FILES)
    text = json.dumps(instance.model_dump(mode="json", exclude_unset=True))
    found = run_policy(instance, first_fit, stop=lambda _: True)
    assert found is not None
    schedule = to_json(found.schedule)
    work = {
        "read an instance": lambda: parse_instance(text),
        "write an instance": lambda: to_json(instance),
        "read a schedule": lambda: parse_schedule(schedule),
        "write a schedule": lambda: to_json(found.schedule),
        "verify": lambda: verify(instance, found.schedule),
        "first-fit, once": lambda: run_policy(parse_instance(text), first_fit, stop=lambda _: True),
    }
    names = [f"{name}, {FILES:,} jobs" for name in work]
    return {
        name: {"seconds": least_seconds([each])}
        for name, each in zip(names, work.values(), strict=True)
    }


def evaluations(yardstick: ctypes.CDLL | None) -> dict[str, dict[str, Any]]:
    """The figures of the engine."""
    return {
        f"engine, {kind}, {jobs:,} jobs": evaluation(jobs, policy, yardstick)
        for jobs in SIZES
        for kind, policy in ENGINE.items()
    }


def beside_cpp() -> dict[str, float]:
    """How many times as long as in C++ an evaluation takes."""
    with tempfile.TemporaryDirectory() as folder:
        yardstick = built(folder)
        if yardstick is None:
            print("There is no g++, so that nothing stands beside C++.")
            return {}
        figures = evaluations(yardstick)
    return {name: figure["seconds"][0] / figure["seconds"][1] for name, figure in figures.items()}


def measured(cold: bool) -> dict[str, dict[str, Any]]:
    """All figures of one checkout."""
    # Without C++ in between, which takes the processor's caches.
    figures = evaluations(None)
    for name, (policy, parameters) in RULES.items():
        for jobs in SIZES:
            figures[f"{name}, {jobs:,} jobs"] = list_schedule(jobs, policy, parameters)
    for kind in KINDS:
        for name in DISPATCH:
            for jobs in (*SIZES, 100_000) if kind == KINDS[0] else SIZES:
                title = f"{getattr(lists, name).name}, {kind}"
                figures[f"{title}, {jobs:,} jobs"] = dispatched(jobs, kind, name)
        figures[f"annealing, a move, {kind}, {SIZES[0]} jobs"] = annealed(kind)
    figures |= files()
    for name, arguments in (("import", ["-c", "import rarmodel"]), ("--help", HELP)):
        command = [sys.executable, *arguments]
        start = partial(subprocess.run, command, check=True, capture_output=True)
        figures[f"rarmodel, {name}"] = {"seconds": least_seconds([start], 10)}
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cold else {})

        def solve() -> None:
            subprocess.run(
                [sys.executable, "-m", "rarmodel", "solve", "two-servers"],
                env=environment,
                check=True,
                capture_output=True,
            )

        if cold:
            begun = perf_counter()
            solve()
            figures["solve two-servers, compiling"] = {"seconds": [perf_counter() - begun]}
        figures["solve two-servers, compiled"] = {"seconds": least_seconds([solve], 5)}
    return figures


def figures_of(path: Path, cold: bool) -> dict[str, dict[str, Any]]:
    """All figures of a checkout, by this script in a process of its own."""
    command = [sys.executable, __file__, "--measure", *(["--cold"] if cold else [])]
    environment = os.environ | {"PYTHONPATH": str(path.resolve())}
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    figures: dict[str, dict[str, Any]] = json.loads(answer.stdout)
    return figures


def growth(figures: dict[str, dict[str, Any]], name: str) -> float:
    """The power of the number of jobs, from 1,000 jobs on, as which the time grows."""
    sizes = SIZES[1:]
    seconds = [figures[f"{name}, {jobs:,} jobs"]["seconds"][0] for jobs in sizes]
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    parser.add_argument("--cold", action="store_true", help="measure compilation too")
    parser.add_argument("--measure", action="store_true", help="print figures as JSON")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.cold)))
        return
    before = figures_of(options.against, options.cold) if options.against else {}
    now = figures_of(Path(__file__).parents[2], options.cold)
    cpp = beside_cpp()
    print(f"{'milliseconds':56}{'before':>10}{'now':>10}{'ratio':>8}{'now / C++':>11}")
    for name, figure in now.items():
        here, known = figure["seconds"][0], before.get(name)
        cells = f"{name:56}" + (f"{1e3 * known['seconds'][0]:10.3f}" if known else " " * 10)
        cells += f"{1e3 * here:10.3f}"
        cells += f"{known['seconds'][0] / here:8.2f}" if known else " " * 8
        if known and figure.get("digest") != known.get("digest"):
            raise SystemExit(f"{name}: the results differ")
        print(cells + (f"{cpp[name]:11.2f}" if name in cpp else ""))
    for name in (*RULES, *(f"fifo, {kind}" for kind in KINDS)):
        powers = [
            f"{growth(figures, name):.2f}"
            for figures in (before, now)
            if f"{name}, {SIZES[-1]:,} jobs" in figures
        ]
        print(f"{name}: from 1,000 jobs on time grows as jobs^{', now jobs^'.join(powers)}")


if __name__ == "__main__":
    main()
