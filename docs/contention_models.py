"""What a model of contention changes: makespans, the order of methods, and plans that go astray.

    python docs/contention_models.py

prints the table of `docs/features/contention-by-duty.md`, in ten seconds. For each instance and
method, a schedule is made by the count and one by duty. Both are then played by duty: jobs keep
their GPUs and their order on them, and start when these are free.
"""

from __future__ import annotations

import rarmodel
from rarmodel.model import topology
from rarmodel.testbed import parts_of, predicted

INSTANCES = (
    *("paper-160", "philly-2869ce", "two-servers", "rack-tree", "fragmented-leftovers"),
    *("fragmented-uneven", "spreading-mistake", "start-later"),
)
METHODS = (
    *("fifo-backfill", "shortest-first", "random", "first-fit"),
    *("list-scheduling", "sjf-bco", "search"),
)
ITERATIONS = 20
"""Of the search: the same on every machine."""


def by_model(instance: rarmodel.Instance, model: str) -> rarmodel.Instance:
    """The instance with a model; by duty with ξ1 = 1, as duties say when rings communicate."""
    update: dict[str, object] = {"model": model}
    if model != "count":
        update["concurrency"] = 1.0
    contention = instance.contention.model_copy(update=update)
    return instance.model_copy(update={"contention": contention})


def solved(instance: rarmodel.Instance, method: str) -> rarmodel.Schedule | None:
    """A method's schedule; None if it finds none within the horizon."""
    iterations = ITERATIONS if method == "search" else None
    found = rarmodel.solve(instance, method=method, iterations=iterations, threads=1)
    return found.schedule


def played(
    instance: rarmodel.Instance, schedule: rarmodel.Schedule, model: rarmodel.Instance
) -> float:
    """Makespan in slots of a schedule of one instance, carried out by the model of another."""
    gbps = [link.gbps for link in topology(instance.cluster).links]
    jobs = predicted(model.contention, gbps, parts_of(instance, schedule))
    return max(job.completion for job in jobs) / instance.time.slot_seconds


def cell(count: rarmodel.Instance, duty: rarmodel.Instance, method: str) -> str:
    """Both makespans, and what the plan by the count loses by duty if it is 0.5 % at least."""
    first, second = solved(count, method), solved(duty, method)
    if first is None or second is None:
        return "none"
    found = f"{rarmodel.verify(count, first).makespan} / {rarmodel.verify(duty, second).makespan}"
    lost = played(count, first, duty) / played(duty, second, duty) - 1.0
    return f"{found} ({lost:+.1%})" if abs(lost) >= 0.005 else found


def main() -> None:
    """Print the table."""
    print(f"| instance | {' | '.join(METHODS)} |")
    print(f"|---|{'---|' * len(METHODS)}")
    for name in INSTANCES:
        instance = rarmodel.load_instance(name)
        count, duty = by_model(instance, "count"), by_model(instance, "duty")
        cells = (cell(count, duty, method) for method in METHODS)
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
