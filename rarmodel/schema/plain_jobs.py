"""Validate many plain jobs without a call of Python for each of them.

Where a field of a job stands in for others, Python must see which of them are given: a list of
sizes, a global batch, times by type of GPU, the state of a running job. A plain job has none of
these, and compiled code validates it alone. So all jobs are first taken for plain ones. If one is
not, or is wrong, all are validated as their class says, which also words what is wrong.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic import TypeAdapter, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from .base import Count, NonNegative

_GIVEN: dict[str, Any] = {
    "gpus": Count,
    "batch_size": Count,
    "forward_ms_per_sample": NonNegative,
    "backward_ms": NonNegative,
}
_ABSENT = ("global_batch_size", "times", "spread", "running")
_plain_jobs: SchemaValidator | None = None


def learn_plain_jobs(schema: CoreSchema) -> None:
    """Make the validator of plain jobs from the schema of all jobs, once.

    This works only while Pydantic makes the class: later it would take the validator of the class
    for any schema with that class.
    """
    global _plain_jobs  # noqa: PLW0603 - it belongs to the class, which exists once
    if _plain_jobs is not None:  # A class derived from it.
        return
    model = cast("Any", schema)
    fields = dict(model["schema"]["fields"])
    for name, kind in _GIVEN.items():
        fields[name] = core_schema.model_field(TypeAdapter(kind).core_schema)
    for name in _ABSENT:
        absent = core_schema.with_default_schema(core_schema.none_schema(), default=None)
        fields[name] = core_schema.model_field(absent)
    job = core_schema.model_schema(
        model["cls"], core_schema.model_fields_schema(fields), config=model["config"]
    )
    _plain_jobs = SchemaValidator(
        core_schema.tuple_schema([job], variadic_item_index=0, min_length=1, fail_fast=True)
    )


def plain_first(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Validate jobs as plain ones if they are, and else by `validate`."""
    if _plain_jobs is not None:
        try:
            return _plain_jobs.validate_python(value)
        except ValidationError:
            pass
    return validate(value)
