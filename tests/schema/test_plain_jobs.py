"""Plain jobs are validated in a faster way, with the same outcome."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import examples
from documents import instance_data, job_data
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from wide_instances import WIDE, random_wide

from rarmodel.schema import Instance, Job, plain_jobs

WRONG: tuple[Any, ...] = (
    None,
    0,
    -1,
    1.5,
    "2",
    True,
    1e31,
    float("nan"),
    [],
    {},
    [2, 4],
    {"A100": {}},
)


def outcome(data: dict[str, Any]) -> object:
    """The instance, or every problem with its place."""
    try:
        return Instance.model_validate(data)
    except ValidationError as error:
        return [(one["loc"], one["type"], one["msg"]) for one in error.errors(include_url=False)]


def slow_outcome(data: dict[str, Any]) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_jobs, "_plain_jobs", None)
        return outcome(data)


@examples(80)
@given(st.randoms(use_true_random=False), st.sampled_from(list(Job.model_fields)), st.booleans())
def test_outcome_is_that_of_the_class(random: Random, field: str, plain: bool) -> None:
    features = [] if plain else [random.choice(WIDE).name]
    instance = random_wide(random, features, jobs=3, servers=2)
    data = instance.model_dump(mode="json", exclude_unset=True)
    for job in random.sample(data["jobs"], random.randint(0, 2)):
        if random.random() < 0.3:
            job.pop(field, None)
        else:
            job[random.choice([field, "unknown"])] = random.choice(WRONG)
    assert outcome(data) == slow_outcome(data)


def test_plain_jobs_do_without_the_validators_of_the_class() -> None:
    def refused(_: object, __: object = None, /) -> object:
        raise AssertionError

    jobs = [job_data(name, release=3, tenant=None) for name in "ab"]
    found = plain_jobs.plain_first(jobs, refused)
    assert found == Instance.model_validate(instance_data(*jobs)).jobs
    assert {type(job) for job in found} == {Job}
    with pytest.raises(AssertionError):
        plain_jobs.plain_first([*jobs, job_data("c", [2, 4])], refused)
