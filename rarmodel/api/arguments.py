"""What the arguments of the Python API must be, by their names, which mean the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from rarmodel import argument_checks, limits
from rarmodel.argument_checks import (
    Check,
    checked,
    expected,
    function,
    number,
    numbers,
    optional,
    path,
    several,
    text,
    truth,
    whole,
)
from rarmodel.schema.certificate import Certificate

from .sources import (
    IS_DATA,
    IS_HORIZON,
    IS_INSTANCE,
    are_instances,
    are_schedules,
    are_starts,
    is_schedule,
    is_start,
)


def _are_paths(value: object) -> str | None:
    if why := several(value):
        return why
    listed = isinstance(value, list | tuple)
    return next(filter(None, map(path, value)), None) if listed else None  # type: ignore[call-overload]


def _are_numbers(value: object) -> str | None:
    if why := several(value):
        return why
    listed = isinstance(value, list | tuple)
    numbers_only = listed and all(type(one) in {int, float} for one in value)  # type: ignore[attr-defined]
    return None if numbers_only else "a list of numbers is expected"


CHECKS: dict[str, Check] = {
    **limits.CHECKS,
    "instance": IS_INSTANCE,
    "instances": are_instances,
    "schedules": are_schedules,
    "objective": optional(argument_checks.names),
    "data": IS_DATA,
    "methods": optional(several),
    "formulations": optional(several),
    "solvers": optional(several),
    "bounds": several,
    "neighbourhoods": several,
    "model_only": truth,
    "keep_model": truth,
    "start": optional(is_start),
    "lower_bound": truth,
    "every_schedule": truth,
    "bound": truth,
    "each": optional(function),
    "round_slots": optional(whole(1)),
    "reclaim": truth,
    "horizon": IS_HORIZON,
    "changes": argument_checks.names,
    "seeds": whole(1),
    "played": optional(function),
    "output": optional(path),
    "charts": optional(argument_checks.entries),
    "parts": optional(several),
    "colour": text,
    "family": text,
    "name": optional(text),
    "services": several,
    "latencies_ms": _are_numbers,
    "accuracies": _are_numbers,
    "requests": path,
    "service": text,
    "group": optional(text),
    "scale": number("it must be above 0", lambda scale: scale > 0),
    "servers": optional(whole(1)),
    "gpus_per_server": optional(whole(1)),
    "gpu_slices": optional(whole(1)),
    "cluster": optional(path),
    "slurm_conf": optional(path),
    "slurm_topology": optional(path),
    "rates": optional(numbers),
    "nccl_tests": _are_paths,
    "model": optional(text),
    "max_size_mb": optional(number("it must be above 0", lambda mb: mb > 0)),
}
"""Methods, formulations, solvers and policies are no part of it: the registry refuses what is none
of its kind, as an object with the right members is as good as a name."""

PARTS = frozenset({"method", "formulation", "solver", "policy", "placement"})
"""Parameters that the registry checks."""

asked = checked(CHECKS)
"""Let a function of the API refuse arguments that are wrong, all at once."""

asked_with_schedule = checked({**CHECKS, "schedule": is_schedule})
asked_to_audit = checked({**CHECKS, "schedule": optional(is_schedule)})
asked_to_compare = checked({**CHECKS, "start": optional(are_starts)})
asked_to_generate = checked({**CHECKS, "contention": truth})


def _is_result(value: object) -> str | None:
    from rarmodel.methods import Result  # noqa: PLC0415 - loads slowly

    return expected("a result of solve", Result)(value)


asked_to_certify = checked({**CHECKS, "result": _is_result})
asked_to_check = checked(
    {
        **CHECKS,
        "certificate": expected("a certificate, a dict or a file's name", Certificate, Mapping),
    }
)


def _truth_or_numbers(value: object) -> str | None:
    return None if isinstance(value, bool) else numbers(value)


asked_to_import = checked({**CHECKS, "source": path, "contention": _truth_or_numbers})


def _is_table(value: object) -> str | None:
    return path(value) and several(value) and "a file's name or a list of rows is expected"


def _is_span(value: object) -> str | None:
    pair = isinstance(value, tuple | list) and len(value) == 2
    fits = pair and all(type(one) in {int, float} for one in value)  # type: ignore[attr-defined]
    return None if fits else "two numbers are expected, the least and the greatest"


_MEASURED = {**CHECKS, "contention": optional(numbers), "message_mb": optional(_is_span)}
asked_to_calibrate = checked({**_MEASURED, "table": optional(_is_table)})
asked_to_compare_models = checked({**_MEASURED, "table": _is_table})
asked_to_compare_terms = checked(
    {
        **CHECKS,
        "table": path,
        "test": optional(path),
        "gpu_type": optional(expected("the name of a type of GPU")),
    }
)
asked_for_kind = checked({"kind": optional(expected("the name of a kind of parts"))})
asked_for_family = checked({"family": optional(expected("the name of a family"))})
