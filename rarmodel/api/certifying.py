"""Certificates of lower bounds: write what proves them, and check that."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rarmodel.bounds import ValueBound, certified, objective_bounds, slow_bounds, tightened
from rarmodel.bounds.arguments import counted, in_file, value_below
from rarmodel.checker import KNOWN, Checked, digest
from rarmodel.checker import check as _check
from rarmodel.errors import RarmodelError, UsageError
from rarmodel.files import check_writable, parse_record, read_record, to_json, write_text
from rarmodel.model import unhandled
from rarmodel.model.objectives import MAKESPAN, Objective, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import Argument, BoundClaim, Certificate, Refuted
from rarmodel.sound_records import sound

from .arguments import asked_to_certify, asked_to_check
from .sources import Source, load_instance, with_objective

if TYPE_CHECKING:
    from rarmodel.methods import Result

SECONDS = 10.0
"""Seconds to look for the greatest bound that can be certified, below one that cannot."""
MOST_TERMS = 300_000
"""Terms of a model that is written for another solver, at most."""

CertificateSource = Certificate | str | os.PathLike[str] | Mapping[str, Any]
"""A certificate, a file, or a dict with its fields."""


@asked_to_certify
def certificate(
    instance: Source, result: Result, *, output: str | os.PathLike[str] | None = None
) -> Certificate:
    """What proves the lower bounds of a result, in whole numbers that `check` forms again.

    A bound that only a search has proven cannot be formed again. Then the certificate says so, and
    also has the greatest bound that can.

    Parameters
    ----------
    instance
        The instance that was solved: as for `solve`.
    result
        The result of `solve`.
    output
        A file for the certificate, in JSON. Where a search has refuted all shorter schedules, the
        model of these is written beside it, if it is small enough: a solver can refute it, too.

    Raises
    ------
    InputError
        If the instance is malformed, or the file cannot be written.
    UsageError
        If the result has no bound, or is of another horizon, or its formulation adds constraints:
        then bounds hold only with these. Or if the checker does not know what the instance uses.
    """
    if output is not None:
        check_writable(output)
    if result.restricted:
        raise UsageError(
            "no certificate: the formulation adds constraints, and its bounds hold only with these"
        )
    names = [goal.name for goal in result.objective if goal.objective is not None]
    problem = with_objective(load_instance(instance), names[0] if len(names) == 1 else names)
    if problem.services:
        raise UsageError(
            f"no certificate: {problem.name!r} has services (services), and what they cost and "
            "leave is not proven in one; leave them out for a certificate of the jobs alone"
        )
    if result.time != problem.time:
        raise UsageError(
            f"no certificate: the result is not of the time of {problem.name!r}; if it was solved "
            "with a horizon, write this as time.horizon into the instance"
        )
    if why := unhandled(problem, KNOWN, "the checker of certificates"):
        raise UsageError(why)
    claims = [
        claim
        for one, bound, at_most in _bounds_of(result)
        for claim in _claims(problem, one, bound, at_most, output)
    ]
    if not claims:
        raise UsageError("no certificate: the result has no bound")
    found = Certificate(
        schema_version=1,
        instance=problem.name,
        instance_sha256=digest(problem),
        claims=tuple(claims),
    )
    if output is not None:
        write_text(output, to_json(found))
    return found


@asked_to_check
def check(instance: Source, certificate: CertificateSource) -> Checked:
    """Check a certificate of lower bounds: form all of its numbers again, exactly.

    The check is the work of one file, `rarmodel/checker.py`, that uses nothing of the code which
    finds bounds.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    certificate
        The certificate: a file, a dict with its fields, or what `certificate` returned.

    Returns
    -------
    Checked
        For each claim whether it is proven, wrong, or not checked.

    Raises
    ------
    InputError
        If instance or certificate is malformed.
    """
    problem = load_instance(instance)
    if isinstance(certificate, Certificate):
        claimed = sound(certificate)
    elif isinstance(certificate, Mapping):
        claimed = parse_record(Certificate, certificate)
    else:
        claimed = read_record(Certificate, certificate)
    return _check(problem, claimed)


def _bounds_of(result: Result) -> Iterator[tuple[Objective, ValueBound, dict[str, int | str]]]:
    """Objectives, their bounds, and values that more important objectives keep."""
    at_most: dict[str, int | str] = {}
    for goal in result.objective:
        if goal.objective is None:
            continue
        if isinstance(goal.bound, int | Fraction):
            bound = ValueBound(goal.bound, goal.proved_by or "solver")
            yield goal.objective, bound, dict(at_most)
        if isinstance(goal.value, int | Fraction):
            at_most[goal.name] = in_file(goal.value)
    if result.lower_bound is not None and MAKESPAN.name not in [g.name for g in result.objective]:
        bound = ValueBound(result.lower_bound, result.bound_name or "solver")
        yield MAKESPAN, bound, {}
    for tie in result.ties:
        if tie.objective is not None and isinstance(tie.bound, int | Fraction):
            yield tie.objective, ValueBound(tie.bound, tie.proved_by or "solver"), {}


def _claims(
    instance: Instance,
    aim: Objective,
    bound: ValueBound,
    at_most: dict[str, int | str],
    output: str | os.PathLike[str] | None,
) -> Iterator[BoundClaim]:
    """The claim of a bound; or of the greatest that can be certified, and of one that cannot."""
    argument = certified(instance, aim, bound)
    if argument is not None:
        yield _claim(aim, bound, argument)
        return
    for weaker in _greatest_first(instance, aim, bound.value):
        if (argument := certified(instance, aim, weaker)) is not None:
            yield _claim(aim, weaker, argument)
            if weaker.value >= bound.value:
                return
            break
    below = value_below(counted(instance, aim).values(), bound.value)
    refuted: dict[str, Any] = {"below": in_file(bound.value if below is None else below)}
    if aim is MAKESPAN and output is not None and not at_most:
        model = _written_model(instance, int(bound.value) - 1, Path(output))
        refuted |= {} if model is None else {"model": model}
    yield _claim(aim, bound, Refuted(kind="refuted", by=bound.name, **refuted), at_most)


def _claim(
    aim: Objective,
    bound: ValueBound,
    argument: Argument,
    at_most: Mapping[str, int | str] | None = None,
) -> BoundClaim:
    condition: dict[str, Any] = {"at_most": dict(at_most)} if at_most else {}
    return BoundClaim(
        objective=aim.name,
        value=in_file(bound.value),
        bound=bound.name,
        argument=argument,
        **condition,
    )


def _greatest_first(instance: Instance, aim: Objective, most: Value) -> list[ValueBound]:
    """Bounds that rarmodel proves without a search, the greatest first."""
    end = perf_counter() + SECONDS
    over: Callable[[], bool] = lambda: perf_counter() > end  # noqa: E731 - typed
    found = list(objective_bounds(instance, aim))
    known = max((one.value for one in found), default=0)
    for slow in slow_bounds(instance, aim):
        if (tight := tightened(slow, instance, aim, known, most, over)) is not None:
            found.append(tight)
            known = max(known, tight.value)
    return sorted(found, key=lambda one: -one.value)


def _written_model(instance: Instance, horizon: int, output: Path) -> str | None:
    """Write the time-indexed model of a number of slots, and return the file's name.

    None if the model is too large, or the formulation does not handle the instance.
    """
    from rarmodel.exact.formulate import scope_for, write_model  # noqa: PLC0415 - loads Pyomo
    from rarmodel.formulations.built import without_rules  # noqa: PLC0415
    from rarmodel.formulations.time_indexed import TIME_INDEXED  # noqa: PLC0415

    path = output.with_name(f"{output.stem}-{horizon}-slots.lp")
    plain = instance.model_copy(update={"objective": MAKESPAN.name})
    with suppress(RarmodelError):
        scope = scope_for(plain, TIME_INDEXED, horizon, lower_bound=False)
        if TIME_INDEXED.size(scope) <= MOST_TERMS:
            write_model(without_rules(TIME_INDEXED.build(scope)), path)
            return path.name
    return None
