"""Improvements of a library: better schedules, better bounds, and what is refused."""

from __future__ import annotations

from datetime import date

import pytest
from small_library import FIRST, instance_of, known_of, searched, small_library, solved, unsolved

import rarmodel
from rarmodel.bounds import best_bound
from rarmodel.files import parse_schedule, to_json
from rarmodel.instances import Library, changed
from rarmodel.library import check, improve
from rarmodel.model import instance_digest
from rarmodel.schema import ProvenBound, ProvenValue, Schedule

DAY = date(2026, 11, 22)
QUICK, OPTIMUM, AT_RANDOM = 10, 11, 15
"""The best quick bound on the makespan of the instance, its optimum, and a value at random."""
DIGEST = instance_digest(instance_of(5))


def best() -> Schedule:
    """The schedule of the search, with nothing proven."""
    return searched().model_copy(update={"bound": None})


def with_bound(schedule: Schedule, slots: int, name: str) -> Schedule:
    bound = ProvenBound(slots=slots, name=name, instance_sha256=DIGEST)
    return schedule.model_copy(update={"bound": bound})


def took(library: Library, schedule: Schedule) -> tuple[Library, list[str], list[str]]:
    """A library after one schedule, its changes, and its problems, as text."""
    found = improve(library, {"file.json": schedule}, DAY)
    return (
        found.library,
        [str(change).removeprefix(f"{FIRST}: ") for change in found.changes],
        [": ".join(problem) for problem in found.problems],
    )


def test_first_schedule_brings_its_value_and_a_quick_bound() -> None:
    schedule = solved(5).model_copy(update={"bound": None})
    library, changes, problems = took(unsolved(), schedule)
    known = known_of(library)
    assert (known.best.value, known.best.by, known.best.date) == (AT_RANDOM, "random", DAY)
    assert known.best.rarmodel == rarmodel.__version__
    assert (known.bound.value, known.bound.by) == best_bound(instance_of(5)) == (10, "long jobs")
    assert changes == [
        f"makespan: best - → {AT_RANDOM}, by random",
        f"makespan: bound - → {QUICK}, by long jobs",
    ]
    assert problems == []
    assert check(library).problems == ()


def test_better_schedule_replaces_the_old_and_an_equal_or_worse_one_does_not() -> None:
    library, changes, problems = took(small_library(), best())
    assert known_of(library).best.value == OPTIMUM
    assert known_of(library).schedule != known_of(small_library()).schedule
    assert changes == [f"makespan: best {AT_RANDOM} → {OPTIMUM}, by search"]
    assert problems == []
    assert took(library, best().model_copy(update={"method": "other"})) == (library, [], [])
    assert took(library, solved(5)) == (library, [], [])


def test_result_of_rarmodel_brings_its_proof() -> None:
    bound = searched().bound
    assert bound is not None
    library, changes, _ = took(small_library(), searched())
    assert known_of(library).optimal
    assert known_of(library).bound.by == bound.name
    assert changes[1] == f"makespan: bound {QUICK} → {OPTIMUM}, by {bound.name}"


@pytest.mark.parametrize("name", ["checked proof", "cutting stock", "cpsat"])
def test_bound_with_a_name_of_rarmodels_counts_as_proven(name: str) -> None:
    known = known_of(took(small_library(), with_bound(best(), OPTIMUM, name))[0])
    assert (known.bound.by, known.optimal, known.claimed) == (name, True, None)


def test_equal_bound_replaces_an_unchecked_proof_and_nothing_else() -> None:
    library = took(small_library(), with_bound(best(), OPTIMUM, "proof"))[0]
    assert took(library, with_bound(best(), OPTIMUM, "proof"))[1] == []
    library, changes, _ = took(library, with_bound(best(), OPTIMUM, "checked proof"))
    assert changes == [f"makespan: bound {OPTIMUM} → {OPTIMUM}, by checked proof"]
    for name in ("proof", "cpsat"):
        assert took(library, with_bound(best(), OPTIMUM, name))[1] == []


def test_bound_from_elsewhere_is_claimed_until_it_is_proven() -> None:
    library, changes, _ = took(small_library(), with_bound(best(), OPTIMUM, "my own solver"))
    known = known_of(library)
    assert known.bound.value == QUICK
    assert not known.optimal
    assert known.claimed is not None
    assert (known.claimed.value, known.claimed.by) == (OPTIMUM, "my own solver")
    assert changes[1:] == [f"makespan: claimed - → {OPTIMUM}, by my own solver"]
    assert '"claimed": {' in to_json(library)
    library, changes, _ = took(library, with_bound(best(), OPTIMUM, "proof"))
    assert known_of(library).claimed is None
    assert changes == [
        f"makespan: bound {QUICK} → {OPTIMUM}, by proof",
        f"makespan: claimed {OPTIMUM} → -",
    ]
    assert '"claimed"' not in to_json(library)


def test_schedule_refutes_a_claimed_bound() -> None:
    library = took(small_library(), with_bound(solved(5), OPTIMUM + 1, "my own solver"))[0]
    assert known_of(library).claimed is not None
    library, changes, problems = took(library, best())
    assert known_of(library).claimed is None
    assert f"makespan: claimed {OPTIMUM + 1} → -" in changes
    assert problems == []


def test_schedule_that_refutes_a_proven_bound_is_an_error_and_changes_nothing() -> None:
    wrong = took(small_library(), with_bound(solved(5), OPTIMUM + 1, "proof"))[0]
    library, changes, problems = took(wrong, best())
    assert library == wrong
    assert changes == []
    told = f"the bound {OPTIMUM + 1}, by proof, is above makespan {OPTIMUM}, by search"
    assert problems == [f"file.json: {told}, which is verified"]


@pytest.mark.parametrize("name", ["proof", "my own solver"])
def test_file_with_a_bound_above_its_own_value_is_refused(name: str) -> None:
    library, changes, (problem,) = took(small_library(), with_bound(best(), OPTIMUM + 1, name))
    assert (library, changes) == (small_library(), [])
    assert problem.startswith(f"file.json: the bound {OPTIMUM + 1}, by {name}, is above makespan")


def test_schedule_that_breaks_constraints_is_refused_with_all_of_them() -> None:
    first, *others = best().assignments
    moved = first.model_copy(update={"gpus": others[0].gpus, "start": others[0].start})
    broken = best().model_copy(update={"assignments": (moved, *others[:-1])})
    library, changes, problems = took(small_library(), broken)
    assert (library, changes) == (small_library(), [])
    report = rarmodel.verify(instance_of(5), broken)
    assert problems == [f"file.json: {one.constraint}: {one.message}" for one in report.violations]
    assert len(problems) > 1


def test_schedule_belongs_to_the_instance_of_its_bound_whatever_the_name() -> None:
    bound = searched().bound
    assert bound is not None
    renamed = searched().model_copy(update={"instance": "small-2"})
    assert (
        took(small_library(), renamed)[1][0] == f"makespan: best {AT_RANDOM} → {OPTIMUM}, by search"
    )
    bound = bound.model_copy(update={"instance_sha256": "0" * 64})
    (problem,) = took(small_library(), searched().model_copy(update={"bound": bound}))[2]
    assert problem == f"file.json: the library does not have its instance, '{FIRST}'"
    (problem,) = took(small_library(), best().model_copy(update={"instance": "nope"}))[2]
    assert problem == "file.json: the library does not have its instance, 'nope'"


def test_instance_that_the_generator_makes_differently_takes_nothing() -> None:
    other = changed(small_library(), lambda one: one.model_copy(update={"sha256": "1" * 64}))
    _, changes, (problem,) = took(other, best())
    assert changes == []
    assert "is not the library's any more" in problem


def test_values_of_other_objectives_improve_too_with_fractions_as_bounds() -> None:
    def flow(library: Library) -> Library:
        known = known_of(library).model_copy(update={"objective": "total-completion"})
        low = known.bound.model_copy(update={"value": 1})
        high = known.best.model_copy(update={"value": 10_000})
        known = known.model_copy(update={"best": high, "bound": low})
        return changed(
            library,
            lambda one: (
                one.model_copy(update={"known": (*one.known, known)}) if one.name == FIRST else one
            ),
        )

    aim = ProvenValue(objective="total-completion", value="61/2", name="proof")
    bound = ProvenBound(slots=QUICK, name="area", instance_sha256=DIGEST, aim=aim)
    library, changes, problems = took(
        flow(small_library()), best().model_copy(update={"bound": bound})
    )
    report = rarmodel.verify(instance_of(5), best(), objective="total-completion")
    assert report.objective is not None
    value = report.objective["total-completion"]
    assert changes[:2] == [
        f"makespan: best {AT_RANDOM} → {OPTIMUM}, by search",
        f"total-completion: best 10,000 → {value}, by search",
    ]
    assert changes[2].startswith("total-completion: bound 1 → ")
    assert problems == []
    assert check(library).problems == ()


def test_what_is_taken_survives_the_file() -> None:
    library = took(small_library(), searched())[0]
    assert Library.model_validate_json(to_json(library)) == library
    assert parse_schedule(to_json(searched())) == searched()
