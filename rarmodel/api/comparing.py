"""Compare methods and formulations on the same instances."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rarmodel import registry
from rarmodel.bounds import best_bound
from rarmodel.defaults import AUTO, COMPARE_SECONDS
from rarmodel.errors import UsageError
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.methods import Method, Neighbourhood, Result, prepare_method, skipped
from rarmodel.model import handled, unhandled, used
from rarmodel.schema import Instance

from .arguments import asked_to_compare
from .comparison import Comparison, Comparisons
from .formulation_choices import check_entries, require_named_solver, solvers_for
from .solving import solve_by_formulation, solve_by_method
from .sources import (
    Data,
    Source,
    Starting,
    Starts,
    entries_of,
    load_instance,
    with_horizon,
    with_objective,
)
from .starting import feasible, starts_of

if TYPE_CHECKING:
    from rarmodel.bounds import Bound
    from rarmodel.formulations import Formulation
    from rarmodel.solvers import Solver


@asked_to_compare
def compare(
    instances: Source | Iterable[Source],
    *,
    methods: Sequence[str | Method] | None = None,
    formulations: Sequence[str | Formulation] | None = None,
    solvers: Sequence[str | Solver] | None = None,
    objective: str | Sequence[str] | None = None,
    horizon: int | None = None,
    time_limit: float = COMPARE_SECONDS,
    gap: float = 0.0,
    threads: int | None = None,
    seed: int = 0,
    data: Data | None = None,
    start: Starts | None = None,
    solver_options: Mapping[str, Any] | None = None,
    bounds: Iterable[str | Bound] = (),
    neighbourhoods: Iterable[str | Neighbourhood] = (),
    model_only: bool = False,
    log: Callable[[str], None] | None = None,
    progress: Callable[[float | None, float | None], None] | None = None,
    each: Callable[[Instance, str, int, int], None] | None = None,
) -> Comparisons:
    """Compare methods and formulations on instances, side by side.

    After Ctrl-C, it returns the rows that are complete.

    Parameters
    ----------
    instances
        One or several instances, files, or names of bundled instances.
    methods, formulations
        Parts to compare. If you give neither, all installed methods, and all installed
        formulations that add nothing to the instance.
    solvers
        Solvers of the formulations. Each solver solves the formulations whose class of models it
        accepts. By default, and as `auto`, the installed solver that proves most.
    objective
        What to minimise, instead of each instance's own objective; see `solve`.
    horizon
        Number of slots in which all jobs must complete, instead of each instance's; see `solve`.
    time_limit
        Seconds for each solve.
    data
        Data that the formulations need beside the instance; see `solve`.
    start
        A schedule from which each solve starts, or the values of the formulation's model; see
        `solve`. With several instances a list of them, one for each, or None where there is none.
    solver_options
        Options of the solver by its own names; they need one solver in `solvers`.
    bounds, neighbourhoods
        Parts beside those that are installed; see `solve`.
    model_only
        Whether each formulation's solver must do with the formulation's model alone; see `solve`.
        Methods run as usual.
    gap, threads, seed, log, progress
        Limits of each solve; see `Limits`.
    each
        Called before each solve: with the instance, the name of the method, the number of the
        solve, which counts from 1, and the number of all solves.

    Raises
    ------
    InputError
        If an instance is malformed.
    UsageError
        If a name is unknown, or a start is no feasible schedule of its instance.
    VerificationError
        If a method or formulation makes a schedule that breaks a constraint.
    """
    everything = methods is None and formulations is None
    if everything:
        methods = registry.names("methods")
        formulations = registry.names("formulations")
    if not formulations and (solvers or data is not None):
        raise UsageError("a solver and data need a formulation, for instance time-indexed")
    if model_only and formulations is not None and not formulations:
        raise UsageError("model_only needs a formulation, for instance time-indexed")
    from rarmodel.solvers.choice import require_fitting  # noqa: PLC0415 - few need it

    require_named_solver(solver_options, solvers or ())
    limits = Limits(
        time_limit, gap, threads, seed, log, progress, solver_options=solver_options or {}
    )
    if isinstance(instances, Instance | Mapping | str | os.PathLike):
        instances = [instances]
    problems = [
        with_horizon(with_objective(load_instance(source), objective), horizon)
        for source in instances
    ]
    starts = starts_of(problems, start)
    entries = entries_of(data)
    parts = [registry.find("methods", asked) for asked in methods or ()]
    solves: list[tuple[_Part, _Solve]] = [
        (_Part(method, method.name), partial(_by_method, method, limits)) for method in parts
    ]
    stated = [registry.find("formulations", wanted) for wanted in formulations or ()]
    check_entries(problems, stated, entries)
    for formulation in stated:
        if everything and formulation.restricts:
            continue  # Its schedules answer another question.
        meant_for: frozenset[str] = getattr(formulation, "meant_for", frozenset())
        if everything and meant_for and not any(meant_for & used(one).keys() for one in problems):
            continue
        for chosen in _pairs_for(formulation, solvers or (), everything=everything):
            if solver_options:
                require_fitting(chosen, formulation, limits)
            attempt = partial(
                solve_by_formulation,
                formulation=formulation,
                solvers=chosen,
                limits=limits,
                data=entries,
                # What nobody asked for by name may turn out to be none for this instance.
                strict=not everything,
                model_only=model_only,
            )
            solves.append((_Part(formulation, formulation.name, chosen[0].name), attempt))
    with registry.added("bounds", bounds), registry.added("neighbourhoods", neighbourhoods):
        return _compared(problems, starts, parts, stated, solves, each)


class _Solve(Protocol):
    """A method, or a formulation with its solver and limits."""

    def __call__(self, instance: Instance, *, start: Starting | None) -> Result: ...


def _by_method(
    method: Method, limits: Limits, instance: Instance, *, start: Starting | None
) -> Result:
    return solve_by_method(instance, method, limits, feasible(instance, start))


def _compared(
    problems: Sequence[Instance],
    starts: Sequence[Starting | None],
    methods: Sequence[Method],
    formulations: Sequence[Formulation],
    solves: Sequence[tuple[_Part, _Solve]],
    each: Callable[[Instance, str, int, int], None] | None,
) -> Comparisons:
    if problems:
        first = problems[0]
        fit = [method for method in methods if not unhandled(first, handled(method), "")]
        exact = any(not unhandled(first, handled(formulation), "") for formulation in formulations)
        _prepare(first, fit, exact=exact)
    comparisons = Comparisons()
    total = sum(
        not unhandled(problem, handled(part.part), part.name)
        for problem in problems
        for part, _ in solves
    )
    solved = 0
    for problem, start in zip(problems, starts, strict=True):
        results: list[Result] = []
        comparisons.append(Comparison(problem.name, results))
        for part, run in solves:
            if why := unhandled(problem, handled(part.part), part.name):
                results.append(skipped(problem, why, bound=best_bound(problem), **part.names))
                continue
            solved += 1
            if each:
                each(problem, part.title, solved, total)
            results.append(run(problem, start=start))
            if results[-1].stopped == INTERRUPTED:
                return comparisons
    return comparisons


class _Part(NamedTuple):
    """A method, or a formulation with its solver."""

    part: Method | Formulation
    name: str
    solver: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """Its names in a result."""
        if self.solver is None:
            return {"method": self.name}
        return {"formulation": self.name, "solver": self.solver}

    @property
    def title(self) -> str:
        return self.name if self.solver is None else f"{self.name} on {self.solver}"


def _prepare(instance: Instance, methods: Sequence[Method], *, exact: bool) -> None:
    """Compile for all parts at once, so that the log says so only once."""
    from rarmodel.engine.compilation import told  # noqa: PLC0415 - loads Numba

    with told():
        for method in methods:
            prepare_method(method, instance)
        if exact:
            from rarmodel.exact import prepare as prepare_exact  # noqa: PLC0415 - and Pyomo

            prepare_exact(instance)


def _pairs_for(
    formulation: Formulation, asked: Sequence[str | Solver], *, everything: bool
) -> Sequence[Sequence[Solver]]:
    """Solvers to pair a formulation with: each requested solver that fits, or the preferred one.

    If no installed solver solves a formulation that was not requested by name, it is left out.
    """
    from rarmodel.solvers.choice import fitting_solvers  # noqa: PLC0415 - few need it

    wanted = formulation.model_class
    pairs: list[Sequence[Solver]] = []
    for one in asked or [AUTO]:
        anyone = everything and one == AUTO
        pair = fitting_solvers(wanted) if anyone else solvers_for(formulation, one)
        if pair and wanted in pair[0].model_classes:
            pairs.append(pair)
    if not pairs and not everything:
        names = ", ".join(registry.find("solvers", one).name for one in asked)
        raise UsageError(
            f"formulation {formulation.name!r} is {wanted}, which {names} cannot solve"
        )
    return pairs
