"""Gavel's programs: which part of the time each job has on each type of GPU.

D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee, M. Zaharia, "Heterogeneity-aware cluster
scheduling policies for deep learning workloads", OSDI 2020. These programs allocate shares of time
to the jobs that are known; they make no schedule.

Indices: jobs j, and types of GPU r. Variables: `X[j,r]`, the part of the time in which job j has
its k_j GPUs of type r; `level`, the least share s. τ_jr are the iterations per slot of j on r.

Both programs keep `Σ_r X_jr ≤ 1` for each job, and `Σ_j k_j X_jr ≤ N_r` for each type, of which the
cluster has N_r GPUs.

Program `SHARES` maximises s with `Σ_r τ_jr X_jr ≥ s·n_j`, where the need n_j makes three of Gavel's
policies:

- max-min share: `n_j = v_j·τ_j^prop / k_j`, with τ_j^prop the throughput in equal parts of the
  cluster;
- makespan: n_j are the iterations left, as then 1/s is the time until the last job completes. Gavel
  finds the same by bisection;
- finish-time fairness: for a ratio R, `n_j = left_j / (R·isolated_j − elapsed_j)`; R can be kept
  iff s ≥ 1, and the least R is found by bisection.

Program `COST` maximises `Σ_jr τ_jr/τ_j^best / price_r · X_jr`, Gavel's throughput by cost, with
`Σ_r τ_jr X_jr ≥ n_j` for jobs that have to be done by a slot. As in Gavel's published code, this is
the sum of the jobs' throughputs by price, and without these demands if they cannot be met; the
paper has the ratio of two sums. Throughputs count in parts of each job's best one, as iterations of
different models do not compare; Gavel's code adds them up as they are.

With one type of GPU the optimum of `SHARES` is known: `X_j = s·n_j/τ_j`, with s the least of
`N / Σ k_j n_j/τ_j` and all `τ_j/n_j`. It needs no solver.

A model is built once, for a number of jobs. Its numbers are mutable parameters, so that it is only
solved again when the jobs change; it is built again when they become more than it has room for.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyomo.environ as pyo

from rarmodel import registry
from rarmodel.limits import Limits

Floats = npt.NDArray[np.float64]
Program = Literal["shares", "cost"]

LEAST_ROOM = 16
"""Jobs for which the smallest model has room."""


class Demand(NamedTuple):
    """What the programs need to know of the jobs and of the cluster.

    Attributes
    ----------
    speed
        (jobs, types) Iterations per slot, τ_jr; 0 where a job cannot run.
    gpus
        (jobs) GPUs of each, k_j.
    need
        (jobs) n_j.
    there
        (types) GPUs of each type, N_r.
    price
        (types) Price of a GPU for some time, above 0; for `cost` only.
    """

    speed: Floats
    gpus: Floats
    need: Floats
    there: Floats
    price: Floats


class Allocation(NamedTuple):
    """Result of a program.

    Attributes
    ----------
    parts
        (jobs, types) X_jr.
    level
        s; infinite for `cost`.
    """

    parts: Floats
    level: float


def build(program: Program, jobs: int, types: int) -> pyo.ConcreteModel:
    """The model of a program, with room for so many jobs; a job without a need makes no demands."""
    model = pyo.ConcreteModel(name=f"gavel-{program}")
    model.jobs, model.types = pyo.RangeSet(0, jobs - 1), pyo.RangeSet(0, types - 1)
    model.speed = pyo.Param(model.jobs, model.types, mutable=True, initialize=0.0)
    model.gpus = pyo.Param(model.jobs, mutable=True, initialize=0.0)
    model.need = pyo.Param(model.jobs, mutable=True, initialize=0.0)
    model.there = pyo.Param(model.types, mutable=True, initialize=0.0)
    model.X = pyo.Var(model.jobs, model.types, bounds=(0, 1))

    @model.Constraint(model.jobs)  # type: ignore[untyped-decorator]
    def one_place_at_a_time(model: Any, j: int) -> Any:
        return sum(model.X[j, r] for r in model.types) <= 1

    @model.Constraint(model.types)  # type: ignore[untyped-decorator]
    def gpus_of_a_type(model: Any, r: int) -> Any:
        return sum(model.gpus[j] * model.X[j, r] for j in model.jobs) <= model.there[r]

    if program == "shares":
        model.level = pyo.Var(bounds=(0, None))

        @model.Constraint(model.jobs)  # type: ignore[untyped-decorator]
        def meets_its_need(model: Any, j: int) -> Any:
            done = sum(model.speed[j, r] * model.X[j, r] for r in model.types)
            return done >= model.need[j] * model.level

        model.goal = pyo.Objective(expr=-model.level)
    else:
        model.worth = pyo.Param(model.jobs, model.types, mutable=True, initialize=0.0)

        @model.Constraint(model.jobs)  # type: ignore[untyped-decorator]
        def meets_its_need(model: Any, j: int) -> Any:
            return sum(model.speed[j, r] * model.X[j, r] for r in model.types) >= model.need[j]

        model.goal = pyo.Objective(
            expr=-sum(model.worth[j, r] * model.X[j, r] for j in model.jobs for r in model.types)
        )
    return model


class Gavel:
    """One of the programs, ready to be solved again and again.

    Attributes
    ----------
    built
        How often the model was built.
    """

    def __init__(self, program: Program, solver: str = "highs") -> None:
        self.built = 0
        self._program, self._solver = program, registry.find("solvers", solver)
        self._room, self._types = 0, 0
        self._model: pyo.ConcreteModel | None = None

    def __call__(self, demand: Demand) -> Allocation | None:
        """Solve the program; None if the needs of `cost` cannot be met, or nobody needs anything.

        A job that runs nowhere needs nothing.
        """
        jobs, types = demand.speed.shape
        # Speeds count in parts of the best one, so that all rows are of one size.
        best = demand.speed.max(axis=1)
        need = np.divide(demand.need, best, out=np.zeros(jobs), where=best > 0)
        best = np.maximum(best, 1e-12)
        if self._program == "shares" and not need.any():
            return None
        if self._program == "shares" and types == 1:
            return _of_one_type(demand, need)
        model = self._with_room(jobs, types)
        for j in range(self._room):
            there = j < jobs
            for rows in (model.one_place_at_a_time, model.meets_its_need):
                (rows[j].activate if there else rows[j].deactivate)()
            model.gpus[j] = float(demand.gpus[j]) if there else 0.0
            model.need[j] = float(need[j]) if there else 0.0
            for r in range(types):
                part = float(demand.speed[j, r] / best[j]) if there else 0.0
                model.speed[j, r] = part
                model.X[j, r].setub(1.0 if part > 0 else 0.0)
                if self._program == "cost":
                    model.worth[j, r] = part / float(demand.price[r])
        for r in range(types):
            model.there[r] = float(demand.there[r])
        with registry.calling("solvers", self._solver):
            answer = self._solver.solve(model, Limits())
        if answer.termination == "interrupted":  # The solver heard Ctrl-C, which meant us.
            raise KeyboardInterrupt
        if not answer.has_solution:
            return None
        parts = np.array([[model.X[j, r].value or 0.0 for r in range(types)] for j in range(jobs)])
        level = float(model.level.value) if self._program == "shares" else np.inf
        return Allocation(np.clip(parts, 0.0, 1.0), level)

    def _with_room(self, jobs: int, types: int) -> pyo.ConcreteModel:
        if self._model is None or jobs > self._room or types != self._types:
            self._room = max(LEAST_ROOM, 1 << (jobs - 1).bit_length())
            self._types = types
            self._model = build(self._program, self._room, types)
            self.built += 1
        return self._model


def _of_one_type(demand: Demand, need: Floats) -> Allocation:
    """Optimum of `SHARES` with one type; need in parts of the time."""
    level = min(float(demand.there[0]) / float(demand.gpus @ need), 1.0 / float(need.max()))
    return Allocation(np.clip(level * need, 0.0, 1.0)[:, None], level)
