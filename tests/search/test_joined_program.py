"""Programs of joined blocks, and dives into them: packings are packings, and none is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from buddy_packings import SIZES, check, fits, go_on, problems
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rarmodel import generate
from rarmodel.engine.arrays import Floats
from rarmodel.highs_library import highspy, silent_highs
from rarmodel.search.block_columns import Ring
from rarmodel.search.block_program import MOST_COLUMNS, Packed, refuted
from rarmodel.search.block_sizes import Kind
from rarmodel.search.joined_dive import PACKINGS, JoinedDive, first_size, idle
from rarmodel.search.joined_packing import joined_packing_of
from rarmodel.search.joined_program import JoinedProgram

Case = tuple[list[int], list[Kind], set[Kind], int, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Servers, jobs, joinable kinds, a target that may not be met, and a greatest size."""
    gpus, jobs, target = draw(problems())
    joinable = draw(st.sets(st.sampled_from(jobs)))
    return gpus, jobs, joinable, target, draw(st.sampled_from(SIZES))


def check_case(case: Case, packed: Packed) -> None:
    """Only joinable jobs that are narrow enough spread; they take as long as on one server here."""
    gpus, jobs, joinable, target, widest = case
    rings = tuple(
        Ring(job, kind, (kind.slots,) * kind.size, last=False)
        for job, kind in enumerate(jobs)
        if kind in joinable and kind.size <= widest
    )
    check(gpus, jobs, packed, target, rings)


def first(dive: JoinedDive) -> Packed | None:
    """The first packing of a dive, if it finds one."""
    return next(dive.packings(), None)


def solved(program: JoinedProgram) -> Packed | None:
    """A packing by the integer program as a whole; None if there is none."""
    highs = silent_highs()
    highs.setOptionValue("threads", 1)
    highs.passModel(program.model())
    highs.run()
    if refuted(highs):
        return None
    assert highs.getModelStatus() == highspy().HighsModelStatus.kOptimal
    return program.packed(np.rint(highs.getSolution().col_value).astype(int).tolist())


@given(case=cases())
@settings(deadline=None, max_examples=150)
def test_no_packing_on_buddy_blocks_is_lost(case: Case) -> None:
    gpus, jobs, _, target, _ = case
    packed = solved(JoinedProgram(*case))
    if packed is None:
        assert not fits(gpus, jobs, target)
    else:
        check_case(case, packed)


@given(case=cases(), seed=st.integers(0, 2**20))
@settings(deadline=None, max_examples=150)
def test_dives_find_packings_only(case: Case, seed: int) -> None:
    program = JoinedProgram(*case)
    for packed in JoinedDive(program, np.random.default_rng(seed), go_on).packings():
        check_case(case, packed)
        assert solved(program) is not None


def test_joinable_jobs_run_where_no_server_has_room() -> None:
    """One server has room for two of three jobs of 2 GPUs; the third runs on both of the others."""
    gpus, jobs = [2, 1, 1], [*[Kind(2, 2)] * 3, Kind(1, 1)]
    assert not fits(gpus, jobs, 4)
    program = JoinedProgram(gpus, jobs, {jobs[0]}, 4, 2)
    packed = first(JoinedDive(program, np.random.default_rng(0), go_on))
    assert packed is not None
    check_case((gpus, jobs, {jobs[0]}, 4, 2), packed)
    assert sorted(len(workers) for workers in packed.workers) == [1, 1, 1, 2]
    assert solved(JoinedProgram(gpus, jobs, set(), 4, 2)) is None
    assert solved(JoinedProgram(gpus, jobs, {jobs[0]}, 4, 1)) is None


def tight(seed: int) -> Case:
    """Jobs that take all GPUs until the target; one of 2 GPUs has a GPU of each server."""
    random = np.random.default_rng(seed)
    first, second = random.integers(30, 71, 2).tolist()
    jobs = [Kind(1, first), Kind(1, first), Kind(2, 100 - first)]
    jobs += [Kind(2, second), Kind(2, 100 - second), Kind(2, 100)]
    return [3, 3], jobs, set(jobs), 100, 2


@pytest.mark.parametrize("seed", range(3))
def test_dives_fill_a_cluster_to_the_last_slot(seed: int) -> None:
    case = tight(seed)
    gpus, jobs, _, target, _ = case
    assert sum(kind.size * kind.slots for kind in jobs) == sum(gpus) * target
    assert not fits(gpus, jobs, target)
    dives = [
        first(JoinedDive(JoinedProgram(*case), np.random.default_rng(1), go_on)) for _ in range(2)
    ]
    packed, again = dives
    assert packed is not None
    assert again is not None
    check_case(case, packed)
    assert packed.workers == again.workers
    assert packed.starts.tolist() == again.starts.tolist()


def test_a_dive_stops_when_it_is_told_to() -> None:
    program = JoinedProgram(*tight(0))
    assert first(JoinedDive(program, np.random.default_rng(0), lambda: True)) is None
    assert first(JoinedDive(program, np.random.default_rng(0), go_on, deadline=0.0)) is None


def test_a_dive_goes_on_to_other_packings_until_it_is_told_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All packings have the wide job where the first program put it."""
    monkeypatch.setattr("rarmodel.search.joined_dive.FIRST_JOBS", 1)
    case = ([4, 4], [Kind(4, 3), *[Kind(1, slots) for slots in range(1, 8)]], set[Kind](), 9, 4)
    found = list[Packed]()

    def enough() -> bool:
        return len(found) == PACKINGS - 1

    dive = JoinedDive(JoinedProgram(*case), np.random.default_rng(0), enough)
    for packed in dive.packings():
        check_case(case, packed)
        found.append(packed)
    assert enough()
    assert len({(int(packed.starts[0]), *packed.workers[0]) for packed in found}) == 1
    assert len({tuple(packed.starts.tolist()) for packed in found}) > 1


@given(case=cases(), seed=st.integers(0, 2**20))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
def test_a_question_says_whether_the_next_size_can_be_packed_and_changes_nothing(
    case: Case, seed: int
) -> None:
    jobs, program, real = case[1], JoinedProgram(*case), JoinedDive._question
    assume(len(program.nested) == 2)
    answers = list[bool]()

    def watched(dive: JoinedDive, *about: Any) -> Callable[[Floats], bool]:
        question = real(dive, *about)

        def answer(units: Floats) -> bool:
            before = dive._bounds()
            answers.append(question(units))
            assert np.array_equal(before, dive._bounds())
            return answers[-1]

        return answer

    wide = sum(kind.size == program.nested[0] for kind in jobs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rarmodel.search.joined_dive.FIRST_JOBS", wide)
        patch.setattr(JoinedDive, "_question", watched)
        found = list(JoinedDive(program, np.random.default_rng(seed), go_on).packings())
    assert len(found) == PACKINGS * any(answers)
    for packed in found:
        check_case(case, packed)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_first_program_goes_on_until_no_question_is_left(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With so much time until the target, the solver finds several packings of the wide jobs."""
    asked = list[Floats]()

    def question(*_: Any) -> Callable[[Floats], bool]:
        def second(units: Floats) -> bool:
            asked.append(units)
            return len(asked) == 2

        return second

    monkeypatch.setattr("rarmodel.search.joined_dive.FIRST_JOBS", 8)
    monkeypatch.setattr(JoinedDive, "_question", question)
    joined = joined_packing_of(generate("paper", seed=2, jobs=30, servers=4))
    assert joined is not None
    dive = JoinedDive(joined.by(374).program, np.random.default_rng(0), go_on, number)
    assert (first(dive) is None) == (number == 1)
    assert len(asked) == min(number, 2)


@pytest.mark.parametrize("size", [1, 2])
def test_too_many_variables_are_not_written_down(size: int) -> None:
    """Neither on blocks that may be joined, nor on those of one server."""
    jobs = [Kind(size, slots) for slots in range(1, 400)]
    program = JoinedProgram([size], jobs, set(), 50_000, 1)
    assert program.too_large
    assert len(program.sizes) < 2 * MOST_COLUMNS
    assert not JoinedProgram([size], jobs[:9], set(), 50, 1).too_large


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([4] * 3 + [2] * 20, 2), ([4] * 3 + [2] * 50, 4), ([4] * 50, 4), ([2, 1] * 5, 1)],
)
def test_the_first_program_packs_few_jobs(sizes: list[int], expected: int) -> None:
    nested = sorted(set(sizes), reverse=True)
    assert first_size(nested, [Kind(size, 1) for size in sizes]) == expected


def test_idle_blocks_are_counted_in_parts() -> None:
    """Two GPUs, and jobs for one and a half of them."""
    jobs = [Kind(1, 4), Kind(1, 2)]
    assert idle(JoinedProgram([2], jobs, set(), 4, 1)) == pytest.approx(0.5)
    assert idle(JoinedProgram([2], jobs, set(), 3, 1)) == 0.0
