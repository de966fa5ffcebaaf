"""The runs of a campaign: the product of its lists, in the file's order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rarmodel import registry
from rarmodel.api import formulation_choices, inputs, sources
from rarmodel.api.sources import with_objective
from rarmodel.api.starting import feasible
from rarmodel.defaults import AUTO
from rarmodel.errors import InputError, Problem, RarmodelError, UsageError
from rarmodel.files import hides, read_data, to_json
from rarmodel.instances import names
from rarmodel.methods import skipped
from rarmodel.model.features import handled, refusal, used
from rarmodel.schema import Instance
from rarmodel.schema.problems import show
from rarmodel.solvers.options import require_options
from rarmodel.yaml_text import Lines, located

from .schema import (
    Asked,
    Campaign,
    FormulationEntry,
    MethodEntry,
    Options,
    PolicyEntry,
    ProcessLimits,
    Source,
)
from .task import Task, canonical, canonical_instance, digest, with_parameters

if TYPE_CHECKING:
    from rarmodel.workloads import Imported

DEFAULT_THREADS = 1
FILES = ("cluster", "slurm_conf", "slurm_topology")
"""Parameters of an import that name files."""
OF_FORMULATIONS = ("model_only", "solver_options")
"""Options for formulations."""
COUNTED = {"iterations", "patience"}
"""Options for methods that count iterations."""
MAX_RUNS = 1_000_000
"""Most runs of a campaign; each takes about 2 kB of memory to plan."""


@dataclass(frozen=True)
class Planned:
    """A run of a campaign.

    Attributes
    ----------
    campaign
        Name of the campaign.
    task
        The task of the run.
    limits
        Limits of its process.
    instance_name
        Name of its instance.
    source
        Source of the instance: `file NAME`, `generate FAMILY` or `import TRACE`.
    source_parameters
        Parameters of the family or the importer in the campaign.
    """

    campaign: str
    task: Task
    limits: ProcessLimits
    instance_name: str
    source: str
    source_parameters: Mapping[str, Any]


@dataclass
class Plan:
    """The runs, the JSON of their instances by hash, and results of skipped runs by name."""

    runs: list[Planned] = field(default_factory=list)
    instances: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Part:
    """A method, a formulation on a solver, or a policy, with one choice of all that varies."""

    method: str | None = None
    formulation: str | None = None
    solver: str | None = None
    solver_version: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    handles: frozenset[str] = frozenset()
    objective: Asked = None
    policy: str | None = None

    @property
    def name(self) -> str:
        return self.method or self.formulation or self.policy or ""

    def why_not(self, instance: Instance, uses: Mapping[str, str]) -> str | None:
        """Why it does not handle an instance, which uses some features; None if it does."""
        if self.policy is None:
            return refusal(uses, self.handles, self.name)
        from rarmodel.online import unsuitable  # noqa: PLC0415 - loads Numba

        return unsuitable(instance, registry.find("policies", self.policy))

    def minimising(self, objective: Asked) -> _Part:
        """The same part with an objective for `solve`, instead of the instance's own."""
        if objective is None:
            return self
        named = objective if isinstance(objective, str) else list(objective)
        return replace(self, options={**self.options, "objective": named}, objective=objective)


class _Drawn(NamedTuple):
    """The instance of some runs: hash, name, results of parts that refuse it, and the start."""

    digest: str
    name: str
    refused: Mapping[int, Mapping[str, Any]]
    start: Mapping[str, Any] | None


def add_campaign(plan: Plan, campaign: Campaign, lines: Lines, folder: Path, source: str) -> None:
    """Add a campaign's runs to a plan, in the order of instances, objectives, parts and seeds.

    Parts are methods, formulations and policies. Seeds change fastest.

    Raises
    ------
    InputError
        With every unknown name and every instance that cannot be made.
    """
    parts_at_least = _count(campaign.methods) + len(campaign.formulations) + len(campaign.policies)
    count = _count(campaign.instances) * parts_at_least * len(campaign.seeds)
    count *= len(campaign.asked())
    if count > MAX_RUNS:
        raise InputError(
            [Problem("", f"{count:,} runs; {MAX_RUNS:,} at most are possible")], source
        )
    problems: list[Problem] = []

    def attempt(place: str, function: Callable[[], Any]) -> Any:
        """Call a function; if it fails, note the problems and return None."""
        try:
            return function()
        except InputError as error:
            found = [
                Problem(place, ": ".join(filter(None, [error.source, *problem])))
                for problem in error.problems
            ]
        except UsageError as error:
            found = [Problem(place, str(error))]
        problems.extend(located(problem, lines) for problem in found)
        return None

    parts: list[_Part] = []
    for i, method in enumerate(campaign.methods):
        parts += attempt(f"methods[{i}]", partial(_of_method, method, campaign.options)) or []
    for i, stated in enumerate(campaign.formulations):
        state = partial(_of_formulation, stated, campaign.options, folder)
        parts += attempt(f"formulations[{i}]", state) or []
    for i, played in enumerate(campaign.policies):
        simulated = partial(_of_policy, played, campaign.placements)
        parts += attempt(f"policies[{i}]", simulated) or []
    parts = [part.minimising(objective) for objective in campaign.asked() for part in parts]
    for i, entry in enumerate(campaign.instances):
        for chosen in _combinations(entry):
            by_seed: dict[int, _Drawn] = {}
            drawn = entry.generate is not None and "seed" not in chosen
            for seed in campaign.seeds if drawn else campaign.seeds[:1]:
                given = {**chosen, "seed": seed} if drawn else chosen
                instance = attempt(f"instances[{i}]", partial(_instance, entry, given, folder))
                if instance is None:
                    break  # The others would fail the same way.
                text = canonical_instance(instance)
                plan.instances[digest(text)] = text
                refused = _refused(instance, parts)
                begin = partial(_start, entry, instance, folder)
                start = attempt(f"instances[{i}].start", begin)
                by_seed[seed] = _Drawn(digest(text), instance.name, refused, start)
            if problems:
                continue
            for (k, part), seed in product(enumerate(parts), campaign.seeds):
                of = by_seed[seed if drawn else campaign.seeds[0]]
                run = _planned(campaign, entry, chosen, part, seed, of)
                plan.runs.append(run)
                if k in of.refused:
                    plan.skipped[run.task.run] = of.refused[k]
    if problems:
        raise InputError(problems, source)


def _refused(instance: Instance, parts: Sequence[_Part]) -> dict[int, Mapping[str, Any]]:
    """Results of the parts that do not handle what an instance uses, by index of the part."""
    found: dict[int, Mapping[str, Any]] = {}
    problems = {part.objective: with_objective(instance, part.objective) for part in parts}
    uses = {objective: used(problem) for objective, problem in problems.items()}
    for k, part in enumerate(parts):
        if why := part.why_not(instance, uses[part.objective]):
            found[k] = skipped(
                problems[part.objective],
                why,
                method=part.method,
                formulation=part.formulation,
                solver=part.solver,
            ).summary()
    return found


def _planned(
    campaign: Campaign,
    entry: Source,
    chosen: Mapping[str, Any],
    part: _Part,
    seed: int,
    of: _Drawn,
) -> Planned:
    kinds = {"file": entry.instance, "generate": entry.generate, "import": entry.import_}
    (source,) = (f"{kind} {what}" for kind, what in kinds.items() if what is not None)
    begins = of.start is not None and part.policy is None
    task = Task(
        instance=of.digest,
        method=part.method,
        formulation=part.formulation,
        policy=part.policy,
        solver=part.solver,
        parameters=part.parameters,
        options=part.options,
        data=part.data,
        seed=seed,
        solver_version=part.solver_version,
        start=of.start if begins else None,
    )
    settings = {**chosen, "start": entry.start} if begins else chosen
    return Planned(campaign.name, task, campaign.limits, of.name, source, settings)


def _count(entries: Sequence[Source | MethodEntry]) -> int:
    """The combined results of all entries."""
    return sum(prod(map(len, entry.vary.values())) for entry in entries)


def _combinations(entry: Source | MethodEntry) -> Iterator[dict[str, Any]]:
    """The fixed parameters with every combination of the varied ones, the last one fastest."""
    for values in product(*entry.vary.values()):
        yield {**entry.parameters, **dict(zip(entry.vary, values, strict=True))}


def _options(own: Options, common: Options, *without: str) -> list[dict[str, Any]]:
    """Every combination of options, without some of the campaign's; a part's own override those."""
    shared = {name: values for name, values in common.given().items() if name not in without}
    given = {"threads": (DEFAULT_THREADS,), **shared, **own.given()}
    return [dict(zip(given, values, strict=True)) for values in product(*given.values())]


def _of_method(entry: MethodEntry, common: Options) -> list[_Part]:
    method = registry.find("methods", entry.method)
    options = _options(entry.options, common, *OF_FORMULATIONS)
    for name in OF_FORMULATIONS:
        if name in options[0]:
            raise UsageError(f"method {method.name!r} has no model; {name} is for formulations")
    if COUNTED & options[0].keys() and not getattr(method, "counts_iterations", False):
        raise UsageError(
            f"method {method.name!r} does not count iterations; give them to a method that does"
        )
    parts = []
    for chosen in _combinations(entry):
        handles = handled(with_parameters(method, chosen))
        part = _Part(entry.method, parameters=chosen, handles=handles)
        parts += [replace(part, options=one) for one in options]
    return parts


def _of_formulation(entry: FormulationEntry, common: Options, folder: Path) -> list[_Part]:
    formulation = registry.find("formulations", entry.formulation)
    options = _options(entry.options, common)
    if COUNTED & options[0].keys():
        raise UsageError(f"formulation {formulation.name!r} does not count iterations")
    for one in options:
        formulation_choices.require_named_solver(one.get("solver_options"), entry.solvers or ())
    data = None if entry.data is None else read_data(folder / entry.data)
    parts = []
    for name in entry.solvers or [formulation_choices.solvers_for(formulation, AUTO)[0].name]:
        solver = registry.find("solvers", name)
        if formulation.model_class not in solver.model_classes:
            raise UsageError(
                f"formulation {formulation.name!r} is {formulation.model_class}, which "
                f"{solver.name} cannot solve"
            )
        if (version := solver.version()) is None:
            raise UsageError(f"solver {solver.name!r} is not installed")
        for one in options:
            require_options(solver, one.get("solver_options", {}))
        handles = handled(formulation)
        part = _Part(None, entry.formulation, name, version, data=data, handles=handles)
        parts += [replace(part, options=one) for one in options]
    return parts


def _of_policy(entry: PolicyEntry, common: Sequence[str]) -> list[_Part]:
    """A policy with each placement, and each length of its rounds."""
    registry.find("policies", entry.policy)
    parts = []
    for placement in entry.placements or common:
        registry.find("placements", placement)
        for slots in entry.round_slots or (None,):
            rounds = {} if slots is None else {"round_slots": slots}
            options = {"placement": placement, **rounds}
            parts.append(_Part(policy=entry.policy, options=options))
    return parts


def _instance(entry: Source, flat: Mapping[str, Any], folder: Path) -> Instance:
    chosen = _nested(flat)
    if entry.generate is not None:
        drawn: Instance = _called(partial(inputs.generate, entry.generate), chosen)
        return drawn
    if entry.import_ is not None:
        given = {
            k: folder / v if k in FILES and isinstance(v, str) else v for k, v in chosen.items()
        }
        imported: Imported = _called(partial(inputs.import_trace, folder / entry.import_), given)
        return imported.instance
    name = entry.instance or ""
    beside = folder / name
    is_bundled = name in names() and not hides(beside)
    return sources.load_instance(name if is_bundled else str(beside))


def _start(entry: Source, instance: Instance, folder: Path) -> dict[str, Any] | None:
    """The schedule from which the solves of an instance start, as its file has it."""
    if entry.start is None:
        return None
    schedule = feasible(instance, folder / entry.start)
    return None if schedule is None else json.loads(to_json(schedule))


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters in which `a.b` stands for the entry b of an object a, which may be given too.

    Raises
    ------
    UsageError
        If something else than an object is given.
    """
    found: dict[str, Any] = {}
    for name, value in sorted(flat.items(), key=lambda item: item[0].count(".")):
        *outer, last = name.split(".")
        at = found
        for depth, part in enumerate(outer, 1):
            inner = at.get(part)
            if inner is not None and not isinstance(inner, dict):
                place = ".".join(outer[:depth])
                raise UsageError(f"{name}: {place} is {show(inner)}; an object is expected")
            at[part] = dict(inner or {})  # A copy: several runs share what the file has.
            at = at[part]
        at[last] = value
    return found


def _called(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    """Apply a function to parameters from a file, which are unchecked."""
    try:
        return function(**parameters)
    except RarmodelError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{canonical(parameters)}: {error}") from error
