"""Entries of data: which are read, and what becomes of those that are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.exact import entries_read
from rarmodel.formulations import Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.entries import Entries, require_read
from rarmodel.formulations.time_indexed import TIME_INDEXED

INSTANCE = rarmodel.load_instance("two-servers")


def weighted(model: Any, scope: Scope) -> Any:
    weights = scope.read("weights", {})
    return sum(weights.get(j, 1) * model.completion[j] for j in scope.jobs)


WEIGHTED = TIME_INDEXED.extended("weighted", objective=weighted)


def test_a_look_at_an_entry_counts_as_reading_it() -> None:
    entries = Entries({"a": 1, "b": 2, "c": 3})
    assert entries["a"] == 1
    assert "b" in entries
    assert entries.get("missing") is None
    assert entries.asked == {"a", "b", "missing"}
    assert dict(entries) == {"a": 1, "b": 2, "c": 3}
    assert entries.asked >= {"a", "b", "c"}


def test_what_is_read_is_known_before_a_solve() -> None:
    assert entries_read(INSTANCE, TIME_INDEXED, {}) == frozenset()
    assert entries_read(INSTANCE, WEIGHTED, {}) == frozenset({"weights"})
    compact = COMPACT.extended("compact", objective=weighted)
    assert entries_read(INSTANCE, compact, {}) == frozenset({"weights"})
    assert entries_read(INSTANCE, replace(compact, evaluate=None), {}) is None


def test_a_misspelt_entry_is_an_error_that_says_what_was_meant() -> None:
    with pytest.raises(UsageError) as refused:
        rarmodel.solve(INSTANCE, formulation=WEIGHTED, data={"wieghts": {}, "xyz": 1})
    assert str(refused.value) == (
        "data: weighted does not read 'wieghts' (did you mean 'weights'?), 'xyz'; "
        "it reads 'weights'"
    )


def test_a_formulation_that_reads_nothing_says_so() -> None:
    for call in (rarmodel.solve, rarmodel.formulate):
        with pytest.raises(UsageError, match="time-indexed does not read 'weights'; it reads no"):
            call(INSTANCE, formulation="time-indexed", data={"weights": {}})


def test_one_reader_among_several_is_enough() -> None:
    (comparison,) = rarmodel.compare(
        INSTANCE, formulations=["time-indexed", WEIGHTED], data={"weights": {}}, time_limit=30
    )
    assert len(comparison.results) == 2
    with pytest.raises(UsageError, match="time-indexed and weighted does not read 'weigths'"):
        rarmodel.compare(
            INSTANCE, formulations=["time-indexed", WEIGHTED], data={"weigths": {}}, time_limit=30
        )


def test_every_unread_entry_is_named() -> None:
    with pytest.raises(UsageError, match=r"'pol' \(did you mean 'pool'\?\), 'b'"):
        require_read(["pol", "b", "pool"], {"pool", "schedules"}, "it")
