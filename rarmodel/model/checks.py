"""What is wrong with an instance that its fields alone do not show."""

from __future__ import annotations

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.schema import Instance

from .extremes import check_speeds
from .objectives import objective


def check_instance(instance: Instance, source: str = "") -> None:
    """Refuse objectives that do not exist, and jobs that cannot progress even alone.

    Raises
    ------
    InputError
        With every problem.
    """
    problems = []
    for i, name in enumerate(instance.objectives):
        try:
            objective(name)
        except UsageError as error:
            place = "objective" if isinstance(instance.objective, str) else f"objective[{i}]"
            problems.append(Problem(place, str(error)))
    try:
        check_speeds(instance, source)
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems, source)
