"""Errors that a user can cause: their lines."""

from __future__ import annotations

import pickle

import pytest

from rarmodel.errors import InputError, Problem, RarmodelError, UsageError, one_line


def test_line_is_source_place_and_message() -> None:
    error = InputError([Problem("jobs[3].gpus", "0; it must be at least 1")], "x.json")
    assert error.lines() == ["x.json: jobs[3].gpus: 0; it must be at least 1"]


def test_what_is_empty_is_left_out_of_a_line() -> None:
    assert InputError([Problem("", "empty")]).lines() == ["empty"]
    assert InputError([Problem("", "empty")], "x.json").lines() == ["x.json: empty"]
    assert InputError([Problem("name", "empty")]).lines() == ["name: empty"]


def test_text_of_an_error_is_its_lines() -> None:
    error = InputError([Problem("a", "wrong"), Problem("b", "wrong")], "x.json")
    assert str(error) == "x.json: a: wrong\nx.json: b: wrong"


def test_problems_may_come_from_a_generator() -> None:
    error = InputError(Problem(place, "wrong") for place in "ab")
    assert [problem.place for problem in error.problems] == ["a", "b"]


@pytest.mark.parametrize("kind", [InputError, UsageError])
def test_is_a_value_error_and_ours(kind: type[Exception]) -> None:
    assert issubclass(kind, RarmodelError)
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, é, 任务, 😀 → \\", "plain text, é, 任务, 😀 → \\"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31mred\x00\x7f", "\\x1b[31mred\\x00\\x7f"),
        ("half \ud83d", "half \\ud83d"),
        ("next\u2028line\u0085", "next\\u2028line\\x85"),
        ("right\u202eto left", "right\\u202eto left"),
    ],
)
def test_one_line_escapes_what_does_not_print(text: str, shown: str) -> None:
    assert one_line(text) == shown
    assert len(shown.splitlines()) == 1


def test_each_problem_is_one_line_whatever_the_file_is_called() -> None:
    error = InputError([Problem("a\nb", "c\nd"), Problem("", "e\x1b")], "f\ng.json")
    assert error.lines() == ["f\\ng.json: a\\nb: c\\nd", "f\\ng.json: e\\x1b"]
    assert len(str(error).splitlines()) == 2


def test_travels_between_processes() -> None:
    error = InputError([Problem("a", "wrong"), Problem("", "empty")], "x.json")
    other = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert other.lines() == error.lines()
    assert str(other) == str(error)
    assert other.problems == error.problems
