"""Build a formulation's model without solving it, measure it, and write it to a file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn.plugins.lp_writer import LPWriter
from pyomo.repn.plugins.mps import ProblemWriter_mps
from pyomo.repn.plugins.nl_writer import NLWriter

from rarmodel.bounds import best_bound
from rarmodel.errors import UsageError
from rarmodel.files import check_writable, write_text
from rarmodel.formulations import Formulation, Scope
from rarmodel.limits import Limits
from rarmodel.methods import attempt, constructive_methods
from rarmodel.model import handled, horizon_of, job_extremes, topology, unhandled
from rarmodel.schema import Instance
from rarmodel.verifier import require_feasible

from .prepare import prepare
from .taken import taken_by

FORMATS = (".lp", ".mps", ".nl")
"""Endings of files for models."""

LONGEST_NAME = 200
"""Longest name: solvers cut off or refuse names beyond 255 characters."""


@dataclass(frozen=True)
class ModelSize:
    """The size of a model.

    Attributes
    ----------
    horizon
        Number of slots of the model.
    binaries, integers, continuous
        Variables by domain, fixed ones left out.
    constraints
        Active constraints.
    terms
        Variables in each constraint, added up: in a linear model, its non-zeros.
    """

    horizon: int
    binaries: int
    integers: int
    continuous: int
    constraints: int
    terms: int

    def summary(self) -> dict[str, int]:
        """The sizes as plain data."""
        return asdict(self)


def scope_for(
    instance: Instance,
    formulation: Formulation,
    horizon: int | None = None,
    data: Mapping[str, Any] | None = None,
    *,
    lower_bound: bool = True,
    every_schedule: bool = False,
) -> Scope:
    """The scope of a model of the instance, by default with as many slots as `solve` would use.

    Parameters
    ----------
    instance, formulation, data
        The problem and its formulation; see `solve_formulation`.
    horizon
        Number of slots. The default is the best heuristic makespan, or the instance's horizon if
        there is none, or the objective or what is added may need longer schedules.
    lower_bound
        Whether the model has rarmodel's lower bound on the makespan.
    every_schedule
        Whether the model must have every feasible schedule, also if the formulation adds nothing.
    """
    if why := unhandled(instance, handled(formulation), f"formulation {formulation.name!r}"):
        raise UsageError(why)
    every_schedule = every_schedule or formulation.restricts
    if horizon is None:
        makespans = [horizon_of(instance)]
        by_makespan = formulation.objective == "makespan" and instance.objectives == ("makespan",)
        if by_makespan and not every_schedule:
            prepare(instance)
            for method in constructive_methods():
                if taken_by(method, instance) is None:
                    continue
                if schedule := attempt(method, instance, Limits()).schedule:
                    report = require_feasible(instance, schedule)
                    makespans.append(report.makespan or horizon_of(instance))
        horizon = min(makespans)
    return Scope(
        instance=instance,
        tree=topology(instance.cluster),
        extremes=job_extremes(instance),
        horizon=horizon,
        lower_bound=best_bound(instance).slots if lower_bound else 0,
        data=data or {},
        every_schedule=every_schedule,
    )


def model_size(model: pyo.ConcreteModel, horizon: int) -> ModelSize:
    """Count variables and constraints."""
    variables = [v for v in model.component_data_objects(pyo.Var, active=True) if not v.fixed]
    constraints = list(model.component_data_objects(pyo.Constraint, active=True))
    return ModelSize(
        horizon=horizon,
        binaries=sum(v.is_binary() for v in variables),
        integers=sum(v.is_integer() and not v.is_binary() for v in variables),
        continuous=sum(v.is_continuous() for v in variables),
        constraints=len(constraints),
        terms=sum(
            sum(1 for _ in identify_variables(constraint.body, include_fixed=False))
            for constraint in constraints
        ),
    )


def write_model(model: pyo.ConcreteModel, output: str | os.PathLike[str]) -> None:
    """Write a model to a file in the format of its ending: `.lp`, `.mps` or `.nl`.

    Names are those of the model's components, with forbidden characters replaced. The names of an
    `.nl` file go to two more files, which end in `.col` and `.row`.

    Raises
    ------
    UsageError
        If the ending is not one of these, or the format does not suit the model.
    InputError
        If the file cannot be written.
    """
    ending = Path(output).suffix.lower()
    if ending not in FORMATS:
        raise UsageError(f"{os.fspath(output)}: a model is written to {' or '.join(FORMATS)}")
    check_writable(output)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"model{ending}"
        try:
            if ending == ".lp":
                with path.open("w", encoding="utf-8", newline="") as file:
                    LPWriter().write(model, file, labeler=_Labels())
            elif ending == ".mps":
                labels = {"labeler": _Labels()}
                ProblemWriter_mps()(model, str(path), lambda _: True, labels)
            else:
                with (
                    path.open("w", encoding="utf-8", newline="") as file,
                    path.with_suffix(".row").open("w", encoding="utf-8") as rows,
                    path.with_suffix(".col").open("w", encoding="utf-8") as columns,
                ):
                    NLWriter().write(model, file, rows, columns, symbolic_solver_labels=True)
        except (ValueError, RuntimeError) as error:
            raise UsageError(f"an {ending} file cannot hold this model: {error}") from error
        for part in Path(folder).iterdir():
            write_text(Path(output).with_suffix(part.suffix), part.read_text(encoding="utf-8"))


class _Labels:
    """Unique names of components that LP and MPS files allow."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def __call__(self, component: Any) -> str:
        name = str(component.name).replace("[", "(").replace("]", ")").replace(",", "_")
        name = re.sub(r"[^A-Za-z0-9_().#]", "_", name)[:LONGEST_NAME]
        label, number = name, 1
        while label in self.taken:
            number += 1
            label = f"{name}_{number}"
        self.taken.add(label)
        return label
