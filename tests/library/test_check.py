"""The check of a library finds whatever is not as it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_library import FIRST, known_of, small_library

from rarmodel.instances import Library, Listed, bundled_library, changed
from rarmodel.library import check


def with_first(change: Callable[[Listed], Listed]) -> Library:
    return changed(small_library(), lambda one: change(one) if one.name == FIRST else one)


def with_known(**update: Any) -> Library:
    known = known_of(small_library()).model_copy(update=update)
    return with_first(lambda one: one.model_copy(update={"known": (known,)}))


def problems_of(library: Library) -> list[str]:
    return [": ".join(problem) for problem in check(library).problems]


def test_bundled_library_is_as_it_says() -> None:
    found = check(bundled_library())
    assert found.problems == ()
    assert found.instances == found.schedules > 100
    assert found.optimal > found.instances / 3
    assert found.bounds == ()


def test_sound_library_has_no_problems() -> None:
    found = check(small_library())
    assert (found.problems, found.instances, found.schedules) == ((), 2, 2)


def test_value_is_that_of_the_schedule() -> None:
    best = known_of(small_library()).best.model_copy(update={"value": 14})
    place = "families[0].instances[0].known[0]"
    assert problems_of(with_known(best=best)) == [f"{place}.best.value: 14; the schedule has 15"]


def test_schedule_keeps_the_constraints() -> None:
    first, *others = known_of(small_library()).schedule
    later = ((first[0] + 100, first[1]), *others)
    problem, value = problems_of(with_known(schedule=later))
    assert problem.startswith("families[0].instances[0].known[0].schedule: horizon: ")
    assert ".best.value: 15; the schedule has 1" in value


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda s: s[1:], "schedule: 5 entries; the instance has 6 jobs"),
        (lambda s: ((0, {"nope": 1}), *s[1:]), "schedule[0]: the instance has no server 'nope'"),
        (lambda s: ((0, {"s00": 99}), *s[1:]), "schedule[0]: at slot 0 server 's00' has"),
    ],
)
def test_schedule_can_be_carried_out(change: Callable[[Any], Any], problem: str) -> None:
    (found,) = problems_of(with_known(schedule=change(known_of(small_library()).schedule)))
    assert found.startswith(f"families[0].instances[0].known[0].{problem}")


def test_instance_has_its_digest() -> None:
    library = with_first(lambda one: one.model_copy(update={"seed": 6}))
    (problem,) = problems_of(library)
    assert problem.startswith("families[0].instances[0].sha256: ")
    assert "rarmodel makes another instance now" in problem


def test_instance_can_be_made() -> None:
    family = small_library().families[0]
    assert family.generate is not None
    made = family.generate.model_copy(update={"family": "nope"})
    library = small_library().model_copy(
        update={"families": (family.model_copy(update={"generate": made}),)}
    )
    one, two = problems_of(library)
    assert one.startswith("families[0].instances[0]: no family 'nope'; choose one of paper")
    assert two.startswith("families[0].instances[1]: ")
    files = family.model_copy(update={"generate": None})
    (one, two) = problems_of(small_library().model_copy(update={"families": (files,)}))
    assert one.startswith(f"families[0].instances[0]: {FIRST}: no bundled file")


def test_bounds_that_the_quick_bounds_prove_again_are_reproduced() -> None:
    bound = known_of(small_library()).bound.model_copy(update={"value": 11, "by": "proof"})
    one, two = check(with_known(bound=bound), seconds=0.0).bounds
    assert (one.instance, one.recorded, one.by) == (FIRST, 11, "proof")
    assert (one.proven, one.name, one.reproduced) == (10, "long jobs", False)
    assert two.reproduced
    again, _ = check(with_known(bound=bound), seconds=20.0).bounds
    assert (again.proven, again.name, again.reproduced) == (11, "cutting stock", True)
