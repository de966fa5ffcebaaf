"""Compile what rarmodel compiles: `python -m rarmodel.wheels.kernels`.

The functions are called as methods and policies call them, on a small instance, so that each is
compiled for the types of its true arguments. `tests/test_wheels.py` knows which are left out.
"""

from __future__ import annotations

import numpy as np

from rarmodel.engine import evaluate
from rarmodel.files import parse_instance
from rarmodel.instances import text_of
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.objective_arrays import objective_arrays
from rarmodel.lists.order_annealing import OrderAnnealing
from rarmodel.lists.order_moves import NUMBERS
from rarmodel.methods import constructive_methods, prepare_method
from rarmodel.model import best_placements
from rarmodel.model.objectives import TOTAL_COMPLETION
from rarmodel.online import simulate
from rarmodel.online.placement import CONTENTION_AWARE
from rarmodel.online.policies.priorities import SRTF
from rarmodel.proof.all_schedules import all_schedules
from rarmodel.schema import Instance, Preemption
from rarmodel.search import SEARCH


def compile_kernels() -> None:
    """Compile them, or load what is compiled already."""
    plain = parse_instance(text_of("two-servers") or "")
    for method in constructive_methods():
        prepare_method(method, plain)
    for objective in ("makespan", (TOTAL_COMPLETION.name,)):
        SEARCH.prepare(plain.model_copy(update={"objective": objective}))
    _compile_proposals(plain)
    shared = _shared(plain)
    SEARCH.prepare(shared)
    _compile_evaluation(shared)
    one = plain.model_copy(update={"jobs": plain.jobs[:1]})
    all_schedules(one, [best_placements(one)], [[1]], 0, 1, 1)
    interrupted = plain.model_copy(update={"preemption": Preemption(restore_seconds=0.0)})
    played = simulate(interrupted, SRTF, CONTENTION_AWARE)
    if played.schedule is not None:
        evaluate(interrupted, played.schedule)


def _shared(instance: Instance) -> Instance:
    """The instance with two slices of each GPU, of which each worker takes one."""
    cluster = instance.cluster.model_copy(update={"gpu_slices": 2})
    jobs = tuple(job.model_copy(update={"slices": 1}) for job in instance.jobs)
    return instance.model_copy(update={"cluster": cluster, "jobs": jobs})


def _compile_evaluation(instance: Instance) -> None:
    """The evaluation of schedules whose jobs share GPUs."""
    lists = ListSchedules(instance)
    lists.makespan(range(len(instance.jobs)))
    evaluate(instance, lists.schedule(SEARCH.name))


def _compile_proposals(instance: Instance) -> None:
    """Changes of orders that a formulation judges."""
    lists, generator = ListSchedules(instance), np.zeros(1, np.uint64)
    orders = OrderAnnealing(lists, objective_arrays(instance), NUMBERS, generator)
    orders.begin(np.arange(len(instance.jobs)), 0)
    orders.propose()


if __name__ == "__main__":
    compile_kernels()
