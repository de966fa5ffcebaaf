"""Pairs of jobs on the same GPUs: layouts, constants found again, predictors, instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_tables import KINDS, colocated, pairs

import rarmodel
from rarmodel.calibration import (
    PublishedTable,
    TermComparison,
    compare_terms,
    is_published,
    of_gpu_type,
    read_published,
)
from rarmodel.calibration.colocated_pairs import SpeedBeside
from rarmodel.calibration.colocation_sections import memories, slowdowns
from rarmodel.calibration.pair_predictors import (
    Pairs,
    by_scores,
    completed,
    factorised,
    mean_by_type,
    nearest,
)
from rarmodel.calibration.term_questions import asked_of
from rarmodel.errors import InputError, UsageError
from rarmodel.model.gpu_sharing import losses
from rarmodel.model.sharing_rule import UNITS

GAVEL = "gpu_type,job,beside,ratio,ratio_beside"
LUCID = (
    "job,dataset,batch,amp,beside,dataset_beside,batch_beside,amp_beside,"
    "ratio,ratio_beside,memory_used_mb"
)
LUCID_AS_PUBLISHED = (
    ",model1,dataset1,gpu_num1,batchsize1,amp1,speed1,"
    "model2,dataset2,gpu_num2,batchsize2,amp2,speed2,gpu_util,gmem_util,gmem"
)


def table(at: Path, *lines: str) -> PublishedTable:
    path = at / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert is_published(str(path))
    return read_published(str(path))


def throughputs(at: Path, data: object) -> Path:
    path = at / "throughputs.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def speeds(found: PublishedTable) -> list[tuple[object, ...]]:
    rows = [row for row in found.rows if isinstance(row, SpeedBeside)]
    assert len(rows) == len(found.rows)
    return [(row.gpu_type, row.kind, row.beside, row.ratio, row.memory_mb) for row in rows]


def test_a_row_of_gavels_layout_has_two_speeds(tmp_path: Path) -> None:
    found = table(tmp_path, GAVEL, "v100,A,B,0.5,0.8", "v100,B,A,0.8,0.5", "v100,A,A,0.6,0.6")
    assert speeds(found) == [
        ("v100", "A", "B", 0.5, None),
        ("v100", "B", "A", 0.8, None),
        ("v100", "A", "A", 0.6, None),
    ]
    assert found.lines == (2, 2, 4)


def test_rings_of_several_gpus_are_kinds_of_their_own(tmp_path: Path) -> None:
    found = table(tmp_path, GAVEL + ",gpus,gpus_beside", "v100,A,B,0.5,0.8,2,1")
    assert [row[1] for row in speeds(found)] == ["A, 2 GPUs", "B"]


def test_lucids_layouts_say_the_same(tmp_path: Path) -> None:
    expected = [
        ("", "M D 32 amp", "N E 64", 0.9, 5000.0),
        ("", "N E 64", "M D 32 amp", 1.1, 5000.0),
    ]
    assert speeds(table(tmp_path, LUCID, "M,D,32,1,N,E,64,0,0.9,1.1,5000")) == expected
    row = "0,M,D,1,32,1,0.9,N,E,1,64,0,1.1,50,20,5000"
    found = table(tmp_path, LUCID_AS_PUBLISHED, row)
    assert speeds(found) == expected
    assert found.ignored == ()


def test_gavels_file_of_throughputs_is_read(tmp_path: Path) -> None:
    a, b, two = "('A', 1)", "('B', 1)", "('A', 2)"
    jobs = {
        a: {"null": 10.0, a: [6.0, 6.0], b: [5.0, 4.0]},
        b: {"null": 5.0, a: [4.0, 5.0], b: [0.0, 0.0]},
        two: {"null": 20.0, two: [0.0, 0.0]},
    }
    path = throughputs(tmp_path, {"v100": jobs, "v100_unconsolidated": jobs})
    assert is_published(str(path))
    found = read_published(str(path))
    assert speeds(found) == [
        ("v100", "A", "A", 0.6, None),
        ("v100", "A", "B", 0.5, None),
        ("v100", "B", "A", 0.8, None),
    ]
    assert found.notes == ("2 pairs have a job with 0 iterations per second, and are left out",)


def test_faults_of_throughputs_at_once(tmp_path: Path) -> None:
    a = "('A', 1)"
    path = throughputs(
        tmp_path,
        {
            "v100": {a: {"null": 1.0, a: [0.5], "('C', 1)": [1.0, 1.0]}, "B": {"null": 1.0}},
            "k80": {a: {"null": -1}},
            "p100": [],
        },
    )
    with pytest.raises(InputError) as caught:
        read_published(str(path))
    assert [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()] == [
        "v100['B']: a job and its GPUs are expected, such as ('LM (batch size 5)', 1)",
        "v100[\"('A', 1)\"][\"('A', 1)\"]: two numbers from 0 on are expected",
        "v100[\"('A', 1)\"][\"('C', 1)\"]: \"('C', 1)\"; it is no job of 'v100'",
        "k80[\"('A', 1)\"]: 'null': iterations per second alone are expected, a number from 0 on",
        "p100: jobs with their throughputs are expected",
    ]
    path = throughputs(tmp_path, {"v100": {a: {"null": 1.0, a: [0.0, 0.0]}}})
    with pytest.raises(InputError, match="no pairs of jobs that run"):
        read_published(str(path))
    assert not is_published(str(throughputs(tmp_path, {"jobs": []})))


def test_one_pair_leaves_nothing_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one pair of kinds; at least two are expected"):
        compare_terms(table(tmp_path, GAVEL, "v100,A,B,0.5,0.8"))


def test_types_of_gpu_are_chosen_by_name(tmp_path: Path) -> None:
    found = read_published(str(colocated(tmp_path / "made.csv")))
    assert {row[0] for row in speeds(of_gpu_type(found, "fast"))} == {"fast"}
    with pytest.raises(UsageError, match=r"'a100': .* has 'slow', 'fast'"):
        of_gpu_type(found, "a100")
    with pytest.raises(UsageError, match="has no types of GPU"):
        of_gpu_type(read_published(str(pairs(tmp_path / "pairs.csv"))), "a100")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> TermComparison:
    return rarmodel.compare_terms(colocated(tmp_path_factory.mktemp("made") / "made.csv"))


def test_sensitivity_and_pressure_are_found_again(compared: TermComparison) -> None:
    assert [one.term for one in compared.terms if one.earns][-1] == "sensitivity × pressure"
    assert compared.best.mean < 0.02
    for part, gpu_type in enumerate(("slow", "fast"), start=1):
        profiles = compared.sections()["clusters"][gpu_type]["profiles"]
        products = [one["sensitivity"] * one["pressure"] for one in profiles.values()]
        expected = [sensitivity * pressure / part for sensitivity, pressure in KINDS.values()]
        assert products == pytest.approx(expected, rel=0.1)


def test_predictors_stand_beside_the_terms(compared: TermComparison) -> None:
    assert [one.predictor for one in compared.predictors] == [
        "mean of the pairs",
        "matrix completion (Gavel)",
        "nearest kind (Gavel)",
        "sharing scores (Lucid)",
    ]
    for one in compared.predictors:
        assert one.difference == pytest.approx(one.mean - compared.best.mean)
        assert one.mean > compared.best.mean
        assert sum(group.rows for group in one.groups) == len(compared.rows)
    assert compared.verdicts[-1] == compared.predictors[-1].verdict
    assert "points above, with a standard error of" in compared.verdicts[-1]


def test_both_speeds_of_a_pair_are_in_one_part(tmp_path: Path) -> None:
    found = read_published(str(colocated(tmp_path / "made.csv")))
    parts: dict[object, set[int]] = {}
    folds = asked_of(found, 1).folds
    for (gpu_type, kind, beside, *_), part in zip(speeds(found), folds, strict=True):
        parts.setdefault((gpu_type, *sorted((str(kind), str(beside)))), set()).add(int(part))
    assert {len(one) for one in parts.values()} == {1}
    assert set.union(*parts.values()) == set(range(5))


def test_no_predictor_sees_what_it_predicts(tmp_path: Path) -> None:
    made = colocated(tmp_path / "made.csv", noise=0.2)
    text = made.read_text(encoding="utf-8")
    asks = asked_of(read_published(str(made)), 0)
    left = np.flatnonzero(asks.folds == 2)
    lines = text.splitlines()
    for line in {read_published(str(made)).lines[i] for i in left}:
        *names, _, _ = lines[line - 1].split(",")
        lines[line - 1] = ",".join([*names, "0.05", "0.06"])
    made.write_text("\n".join(lines), encoding="utf-8")
    changed = asked_of(read_published(str(made)), 0)
    known = np.flatnonzero(asks.folds != 2)
    for before, after in zip(asks.predictors, changed.predictors, strict=True):
        assert list(before.predict(known, left)) == list(after.predict(known, left))


def test_factors_are_those_of_plain_alternating_least_squares() -> None:
    """The same rounds by diagonal matrices, as the method is written down."""
    random = np.random.default_rng(4)
    matrix = np.where(random.random((6, 8)) < 0.7, random.random((6, 8)), np.nan)
    found = factorised(matrix, np.random.default_rng(1), 3, 0.01)
    start = np.random.default_rng(1)
    left, right = start.standard_normal((6, 3)), start.standard_normal((8, 3))
    mask, values = ~np.isnan(matrix), np.nan_to_num(matrix)
    expected = left @ right.T
    for _ in range(100):
        for one, other, known, seen in (
            (left, right, values, mask),
            (right, left, values.T, mask.T),
        ):
            for i in range(len(one)):
                chosen = np.diag(seen[i].astype(float))
                square = other.T @ chosen @ other + 0.01 * np.eye(3)
                one[i] = np.linalg.inv(square) @ other.T @ chosen @ known[i]
        before, expected = expected, left @ right.T
        if np.linalg.norm(expected - before) / matrix.size < 1e-3:
            break
    assert found == pytest.approx(expected, rel=1e-9)


def columns(rows: list[tuple[int, int, float]], kinds: int) -> Pairs:
    """Pairs on one type of GPU: kind, neighbour, ratio."""
    kind, other, ratio = (np.array(column) for column in zip(*rows, strict=True))
    return Pairs(ratio, kind, other, kind, other, np.zeros(len(rows), int))


def test_completion_finds_an_entry_of_a_matrix_of_rank_one() -> None:
    values = np.outer([0.3, 0.5, 0.7, 0.9], [0.4, 0.6, 0.8, 1.0])
    rows = [(i, k, float(values[i, k])) for i in range(4) for k in range(4)]
    found = columns(rows, 4)
    known = np.array([i for i in range(16) if i != 6])
    assert completed(found, known, np.array([6]), 0) == pytest.approx([values[1, 2]], abs=0.1)


def test_the_nearest_kind_lends_its_ratio() -> None:
    rows = [(0, 0, 0.2), (0, 1, 0.9), (1, 0, 0.2), (1, 1, 0.91), (2, 0, 0.9), (2, 1, 0.2)]
    rows += [(0, 2, 0.33), (1, 2, 0.5), (2, 2, 0.77)]
    found = columns(rows, 3)
    known = np.array([i for i in range(9) if i != 7])
    assert nearest(found, known, np.array([7]), 0) == pytest.approx([0.33])


def test_scores_by_hand() -> None:
    """Kind 0 is hardly slowed down, kind 1 a little, kind 2 much: scores 0, 1 and 2."""
    rows = [(0, 1, 1.0), (0, 2, 0.96), (1, 0, 0.94), (1, 2, 0.9), (2, 0, 0.8), (2, 1, 0.7)]
    rows += [(0, 0, 0.98), (2, 2, 0.5)]
    found = columns(rows, 3)
    asked = np.array([1, 7])
    known = np.array([0, 2, 3, 4, 5, 6])
    overall = float(np.mean([rows[i][2] for i in known]))
    assert by_scores(found, known, asked) == pytest.approx([overall, overall])
    again = by_scores(found, np.arange(8), np.array([1, 3]))
    assert list(again) == pytest.approx([0.96, 0.9])


def test_the_mean_is_that_of_the_type() -> None:
    ratio, types, nobody = np.array([0.2, 0.4, 0.8, 0.9]), np.array([0, 0, 1, 1]), np.zeros(4, int)
    found = Pairs(ratio, nobody, nobody, nobody, nobody, types)
    assert list(mean_by_type(found, np.array([0, 1, 2]), np.array([3]))) == [0.8]


def beside(kind: str, other: str, ratio: float, memory: float | None = None) -> SpeedBeside:
    return SpeedBeside("", kind, other, kind, ratio, memory)


def test_slowdowns_are_of_mean_ratios_and_at_least_one() -> None:
    rows = [beside("a", "b", 0.4), beside("a", "b", 0.6), beside("b", "a", 1.2)]
    found = {(one.kind, one.beside): one.slowdown for one in slowdowns(rows)}
    assert found == {("a", "b"): 2.0, ("b", "a"): 1.0}


def test_memory_is_found_where_pairs_determine_it() -> None:
    rows, lines = [], []
    sizes = {"a": 1000.0, "b": 3000.0, "c": 500.0, "d": 700.0, "e": 900.0}
    for line, pair in enumerate(("aa", "ab", "bc", "ac", "de"), start=1):
        one, two = pair[0], pair[1]
        rows += [beside(one, two, 1.0, sizes[one] + sizes[two])] * 2
        lines += [line, line]
    found = {one.kind: one.memory_gb for one in memories(rows, lines)}
    assert found == pytest.approx({"a": 1.0, "b": 3.0, "c": 0.5})


def instance(*kinds: str | None, **more: Any) -> rarmodel.Instance:
    data = rarmodel.load_instance("two-servers").model_dump(mode="json", exclude_unset=True)
    jobs = [
        {**data["jobs"][0], "name": f"j{i}", "gpus": 1, "slices": 1}
        | ({} if kind is None else {"kind": kind})
        for i, kind in enumerate(kinds)
    ]
    data["cluster"]["gpu_slices"] = 2
    return rarmodel.Instance.model_validate({**data, "jobs": jobs, **more})


def test_jobs_get_the_profiles_of_their_kinds(compared: TermComparison, tmp_path: Path) -> None:
    made = colocated(tmp_path / "made.csv")
    found = rarmodel.compare_terms(made, gpu_type="slow")
    first, second = [*KINDS][:2]
    own = {"kind": "own", "beside": first, "slowdown": 3.0}
    old = {"kind": first, "beside": second, "slowdown": 9.0}
    plain = instance(first, second, "own", None, colocation=[own, old])
    applied = found.applied(plain)
    profile = found.sections()["profiles"][first]
    assert applied.jobs[0].sensitivity == profile["sensitivity"]
    assert applied.jobs[0].pressure == profile["pressure"]
    assert [job.sensitivity for job in applied.jobs[2:]] == [1.0, 1.0]
    measured = {(one.kind, one.beside): one.slowdown for one in applied.colocation}
    assert measured.keys() == {
        ("own", first),
        *((one, other) for one in (first, second) for other in (first, second)),
    }
    (sensitivity, _), (_, pressure) = KINDS[first], KINDS[second]
    expected = 1.0 + sensitivity * pressure
    assert measured[first, second] == pytest.approx(expected, rel=0.05)
    loss = losses(applied)
    assert loss.of(0, 1) / UNITS == pytest.approx(measured[first, second] - 1.0, abs=2e-6)
    with pytest.raises(UsageError, match="no job of two-servers has a kind of"):
        found.applied(instance("own", None))
    with pytest.raises(UsageError, match="has 'slow', 'fast'; choose one by --gpu-type"):
        compared.applied(plain)


def test_where_one_constant_is_best_all_kinds_have_it(tmp_path: Path) -> None:
    """Ratios around one value: neither kinds nor neighbours matter."""
    made = colocated(tmp_path / "made.csv", types=("only",))
    lines = made.read_text(encoding="utf-8").splitlines()
    for i, line in enumerate(lines[1:], start=1):
        *names, _, _ = line.split(",")
        lines[i] = ",".join([*names, f"{0.5 + 0.002 * (i % 3)}", f"{0.5 - 0.002 * (i % 2)}"])
    made.write_text("\n".join(lines), encoding="utf-8")
    found = compare_terms(read_published(str(made)))
    assert found.best.term == "one constant for all"
    profiles = found.sections()["profiles"].values()
    assert len(profiles) == len(KINDS)
    assert {one["pressure"] for one in profiles} == {1.0}
    assert [one["sensitivity"] for one in profiles] == pytest.approx([1.0] * len(KINDS), rel=0.01)
