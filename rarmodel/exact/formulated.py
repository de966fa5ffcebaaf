"""A formulation's Pyomo model with its scope: solve it anywhere, and have a schedule back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyomo.environ as pyo

from rarmodel.errors import NoScheduleError, UsageError, VerificationError
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.entries import Entries
from rarmodel.formulations.guarded import guarded
from rarmodel.limits import Limits
from rarmodel.methods import Result
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers.choice import require_fitting, solvers_for
from rarmodel.verifier import require_feasible

from .admission import satisfies
from .formulate import ModelSize, model_size
from .known import NO_BOUND, Known, recorder_of
from .named_values import values_by_name
from .numbered_schedules import schedule_of
from .solve import solve_as_it_stands

if TYPE_CHECKING:
    from rarmodel.solvers import Solver


@dataclass(frozen=True, eq=False)
class FormulatedModel:
    """A Pyomo model, and how it and schedules of its instance become each other.

    Unpacks into the model and its size: `model, size = rarmodel.formulate(…)`.

    Attributes
    ----------
    formulation
        The formulation that the model states.
    scope
        What the model covers: the instance, its slots and the data. Functions of formulations take
        it beside the model.
    model
        The Pyomo model. You may change it: parameters, constraints, bounds, the objective. If you
        add constraints, ask `formulate` for `every_schedule`.
    """

    formulation: Formulation
    scope: Scope
    model: pyo.ConcreteModel
    _objective: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Remember the formulation's own objective: another one may take its place."""
        object.__setattr__(self, "_objective", _active_objective(self.model))

    def __iter__(self) -> Iterator[Any]:
        """The model and its size."""
        return iter((self.model, self.size))

    @property
    def instance(self) -> Instance:
        """The problem."""
        return self.scope.instance

    @property
    def has_another_objective(self) -> bool:
        """Whether the model has another objective than when it was built."""
        return _active_objective(self.model) is not self._objective

    @property
    def size(self) -> ModelSize:
        """The size of the model as it stands."""
        return model_size(self.model, self.scope.horizon)

    @property
    def values(self) -> dict[str, float]:
        """Values of the variables that have one, by name, as `start` of `rarmodel.solve`."""
        return values_by_name(self.model)

    def schedule(self) -> Schedule:
        """The schedule of the solution that the model's variables hold, verified.

        It is whatever solver has found the solution. A job may complete earlier in the schedule
        than in the model: then the constraints that the model has, yours too, are checked with the
        completions of the schedule. The values of the variables stay as they are.

        Raises
        ------
        NoScheduleError
            If the variables hold no solution, or the model is a relaxation that has no schedules.
        VerificationError
            If the schedule breaks a constraint of the instance, or of the model.
        """
        schedule = self._planned()
        require_feasible(self.instance, schedule)
        broken = satisfies(self.model, guarded(self.formulation), self.scope, schedule).broken
        if broken is not None:
            raise VerificationError(
                f"{self.formulation.name}: with the completions that follow from the model of "
                f"contention, the schedule breaks {broken}"
            )
        return schedule.timed(self.instance.time)

    def _planned(self) -> Schedule:
        name = self.formulation.name
        variables = self.model.component_data_objects(pyo.Var, active=True)
        plan = None
        if any(variable.value is not None for variable in variables):
            plan = guarded(self.formulation).plan(self.model, self.scope)
            if plan is None:
                raise NoScheduleError(
                    f"{self.instance.name}: {name!r} has no schedule in these values: the model is "
                    "a relaxation, or the values are no solution"
                )
        if plan is None:
            raise NoScheduleError(
                f"{self.instance.name}: the variables of the model have no values; solve it first"
            )
        return schedule_of(self.instance, plan, name)

    def load(self, schedule: Schedule) -> None:
        """Set the model's variables to a schedule, for instance as a starting solution.

        Variables that you added keep their values.

        Raises
        ------
        VerificationError
            If the schedule breaks a constraint of the instance.
        UsageError
            If the model has no place for the schedule: it is too long, for example.
        """
        report = require_feasible(self.instance, schedule)
        if report.makespan is not None and report.makespan > self.scope.horizon:
            raise UsageError(
                f"the schedule takes {report.makespan:,} slots; the model has "
                f"{self.scope.horizon:,}"
            )
        free = [v for v in self.model.component_data_objects(pyo.Var) if not v.fixed]
        before = [variable.value for variable in free]
        for variable in free:
            variable.set_value(None, skip_validation=True)
        guarded(self.formulation).load(self.model, self.scope, schedule)
        taken = any(variable.value is not None for variable in free)
        for variable, value in zip(free, before, strict=True):
            if variable.value is None:
                variable.set_value(value, skip_validation=True)
        if not taken:
            raise UsageError(f"the model of {self.formulation.name!r} cannot have the schedule")

    def solve(
        self,
        solver: str | Solver | None = None,
        *,
        time_limit: float | None = None,
        gap: float = 0.0,
        threads: int | None = None,
        seed: int = 0,
        solver_options: Mapping[str, Any] | None = None,
        log: Callable[[str], None] | None = None,
        progress: Callable[[float | None, float | None], None] | None = None,
    ) -> Result:
        """Solve the model as it stands, without building it anew; the schedule is verified.

        Change mutable parameters, bounds or constraints between two calls. The values that the
        variables hold are the starting solution: those of the last call, or of `load`. rarmodel
        adds no search and no bound. The bound of the result holds for this model: with its slots
        and with all that you changed. So `Result.restricted` is true.

        Parameters
        ----------
        solver
            As for `rarmodel.solve`.
        time_limit, gap, threads, seed, solver_options, log, progress
            See `Limits`.

        Returns
        -------
        Result
            Its objective is that of the instance, unless you have put another one into the model.

        Raises
        ------
        UsageError
            If the solver is not installed, or refuses the model.
        """
        limits = Limits(
            time_limit, gap, threads, seed, log, progress, solver_options=solver_options or {}
        )
        solvers = solvers_for(self.formulation, solver)
        require_fitting(solvers, self.formulation, limits)
        begun = perf_counter()
        recorder = recorder_of(self.instance, self.formulation, limits, begun)
        known = Known(
            instance=self.instance,
            formulation=guarded(self.formulation),
            solvers=solvers,
            limits=replace(limits, progress=recorder),
            data=Entries(self.scope.data),
            session=None,
            recorder=recorder,
            begun=begun,
            bound=NO_BOUND,
            alone=True,
            stands=True,
            changed=self.has_another_objective,
        )
        result = solve_as_it_stands(known, self.model, self.scope)
        return replace(result, formulated=self)


def _active_objective(model: pyo.ConcreteModel) -> Any:
    """The expression of the objective that is to be minimised."""
    found = list(model.component_data_objects(pyo.Objective, active=True))
    return found[0].expr if len(found) == 1 else None
