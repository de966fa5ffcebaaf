"""What follows from an instance is worked out once, and goes with the instance."""

from __future__ import annotations

import gc
from weakref import ref

import pytest
from documents import instance_of, job_data

from rarmodel.model import job_extremes
from rarmodel.model.caching import once_per_instance
from rarmodel.schema import Instance


class Result:
    """Something that a weak reference can point to."""


def test_result_is_worked_out_once_for_each_instance() -> None:
    calls: list[str] = []

    @once_per_instance
    def first_job(instance: Instance) -> str:
        calls.append(instance.jobs[0].name)
        return calls[-1]

    one, other = instance_of(job_data("a")), instance_of(job_data("b"))
    assert [first_job(one), first_job(other), first_job(one), first_job(other)] == list("abab")
    assert calls == ["a", "b"]


def test_equal_and_changed_copies_are_instances_of_their_own() -> None:
    instance = instance_of(job_data("a", iterations=10))
    (before,) = job_extremes(instance)
    longer = instance.jobs[0].model_copy(update={"iterations": 50})
    changed = instance.model_copy(update={"jobs": (longer,)})
    assert (before.least_slots, job_extremes(changed)[0].least_slots) == (1, 5)
    assert job_extremes(instance.model_copy()) == (before,)


def test_result_goes_with_its_instance() -> None:
    @once_per_instance
    def result(instance: Instance) -> Result:
        return Result()

    instance = instance_of()
    kept = ref(result(instance))
    assert kept() is result(instance)
    del instance
    gc.collect()
    assert kept() is None


def test_instance_in_the_place_of_one_that_is_gone_has_its_own_result() -> None:
    @once_per_instance
    def iterations(instance: Instance) -> int:
        return instance.jobs[0].iterations

    # Each instance may get the memory of the last, and so its number.
    assert [iterations(instance_of(job_data("a", iterations=n))) for n in range(1, 50)] == list(
        range(1, 50)
    )


def test_what_raises_is_tried_again() -> None:
    calls: list[Instance] = []

    @once_per_instance
    def fail(instance: Instance) -> None:
        calls.append(instance)
        raise ValueError("no")

    instance = instance_of()
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            fail(instance)
    assert len(calls) == 2
