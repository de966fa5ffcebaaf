"""What notebooks show, and data frames: whatever the names are, and however long the lists."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from datetime import datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from documents import assignment_data, instance_data, job_data
from hypothesis import given, settings
from hypothesis import strategies as st

import rarmodel
from rarmodel.errors import NoScheduleError, UsageError, one_line
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.methods import Attempt, Goal, ModelRun
from rarmodel.schema import Instance, Schedule
from rarmodel.tabular import LONGEST, MOST_ROWS, frame, html_lines, html_rows

HOSTILE = '<script>alert("&amp;\x1b[31m")</script>\'><img src=x onerror=y>'


class Page(HTMLParser):
    """Tags of a text of HTML with their attributes, and the texts between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def page_of(shown: Any) -> Page:
    page = Page(shown._repr_html_())
    assert page.tags <= TAGS
    assert page.attributes <= {"style"}
    return page


class Fixed:
    """Always the same schedule."""

    def __init__(self, name: str, schedule: Schedule | None) -> None:
        self.name, self.schedule = name, schedule

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        return Attempt(self.schedule, HOSTILE)


def hostile_instance(jobs: int = 1) -> Instance:
    data = instance_data(*(job_data(f"{HOSTILE}{i}") for i in range(jobs)), horizon=1000)
    data["name"] = data["description"] = data["cluster"]["servers"][0]["name"] = HOSTILE
    return parse_instance(data)


def schedule_of(instance: Instance, method: str) -> Schedule:
    return Schedule.model_validate(
        {
            "schema_version": 1,
            "instance": instance.name,
            "method": method,
            "assignments": [
                {**assignment_data(job.name, i), "gpus": {instance.cluster.servers[0].name: [0]}}
                for i, job in enumerate(instance.jobs)
            ],
        }
    )


def test_names_are_text_whatever_they_are() -> None:
    instance = hostile_instance()
    schedule = schedule_of(instance, HOSTILE)
    comparisons = rarmodel.compare(instance, methods=[Fixed(HOSTILE, schedule)])
    (result,) = comparisons[0].results
    goal = replace(result, objective=(Goal(HOSTILE, 3.0, 2.0),))
    broken = rarmodel.verify(instance, schedule_of(hostile_instance(2), HOSTILE))
    assert result.report is not None
    assert broken.violations
    for shown in (
        instance,
        schedule,
        result,
        goal,
        result.report,
        broken,
        comparisons[0],
        comparisons,
    ):
        texts = page_of(shown).texts
        assert shown is result.report or any(one_line(HOSTILE)[:40] in text for text in texts)
        assert not any("\x1b" in text for text in texts)


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()), st.text())
def test_tables_are_well_formed_and_lose_nothing_short(lines: dict[str, Any], title: str) -> None:
    for text in (html_lines(title, lines), html_rows(title, [lines, lines])):
        page = Page(text)
        assert page.tags <= TAGS
        said = "".join(page.texts)
        for value in (title, *lines, *lines.values()):
            shown = "-" if value is None else one_line(str(value))
            assert len(shown) > LONGEST or shown in said


def test_long_lists_and_names_are_cut() -> None:
    data = instance_data(*(job_data(f"j{i}" * 500) for i in range(3000)), horizon=10**6)
    instance = parse_instance(data)
    schedule = schedule_of(instance, "by hand")
    page = page_of(instance)
    assert "Jobs: the first 10 of 3,000" in page.texts
    shown = instance._repr_html_() + schedule._repr_html_()
    assert len(shown) < 20_000
    assert sum(text.startswith("j0") for text in page.texts) == 1
    assert MOST_ROWS == 10


def test_an_instance_is_shown_with_its_sizes() -> None:
    texts = page_of(rarmodel.load_instance("two-servers")).texts
    for name, value in (("jobs", "4"), ("servers", "2"), ("GPUs", "4"), ("network", "star")):
        assert texts[texts.index(name) + 1] == value


def test_a_result_is_shown_as_the_command_line_prints_it() -> None:
    result = rarmodel.solve("two-servers", method="first-fit")
    texts = page_of(result).texts
    for name, value in result.lines().items():
        assert texts[texts.index(name) + 1] == value
    assert texts[texts.index("makespan") + 1] == "20 slots (20 s)"


def test_numbers_stand_to_the_right_and_names_to_the_left() -> None:
    rows: list[dict[str, object]] = [
        {"job": "a", "slots": 3, "gap": "3.5%"},
        {"job": "7", "slots": None, "gap": "-"},
    ]
    text = html_rows("", rows)
    assert text.count("text-align: right") == 6
    assert '<td style="text-align: left; padding: 2px 8px">7</td>' in text


class Printer:
    """What IPython hands over for the text beside the table."""

    def __init__(self) -> None:
        self.said = ""

    def text(self, text: str) -> None:
        self.said += text


def test_text_beside_the_table_is_short() -> None:
    instance = rarmodel.load_instance("paper-160")
    result = rarmodel.solve(instance, method="first-fit")
    assert result.schedule is not None
    for shown in (instance, result.schedule):
        printer = Printer()
        shown._repr_pretty_(printer, cycle=False)
        assert "160" in printer.said
        assert "\n" not in printer.said
        assert len(printer.said) < 200
    assert "makespan=" in repr(result)
    comparisons = rarmodel.compare(instance, methods=["first-fit"])
    for one in (result, result.report, comparisons, comparisons[0]):
        assert len(repr(one)) < 600


AFTER = ("total-completion", "total-links")


def test_comparisons_become_one_frame() -> None:
    pytest.importorskip("pandas")
    comparisons = rarmodel.compare(["two-servers", "start-later"], methods=["first-fit", "sjf-bco"])
    found = comparisons.to_frame()
    assert list(found["instance"]) == ["two-servers"] * 2 + ["start-later"] * 2
    rows = [row for one in comparisons for row in one.rows()]
    of_models = [f"model_{one.name}" for one in fields(ModelRun)]
    ties = [f"tie_{part}_{aim}" for aim in AFTER for part in ("value", "bound")]
    instead = {"model": of_models, "ties": ties}
    assert list(found.columns) == [
        column for name in rows[0] for column in instead.get(name, [name])
    ]
    assert list(found["makespan"]) == [row["makespan"] for row in rows]
    assert comparisons[1].to_frame()["makespan"].tolist() == found["makespan"].tolist()[2:]


def test_jobs_of_an_instance_become_a_frame() -> None:
    pytest.importorskip("pandas")
    instance = rarmodel.load_instance("two-servers")
    found = instance.to_frame()
    assert found["name"].tolist() == [job.name for job in instance.jobs]
    assert found["gpus"].sum() == sum(job.size for job in instance.jobs)
    assert set(found.columns) == set(type(instance.jobs[0]).model_fields)


def test_a_result_becomes_a_frame_with_a_row_for_each_job() -> None:
    pytest.importorskip("pandas")
    instance = rarmodel.load_instance("two-servers")
    result = rarmodel.solve(instance, method="first-fit")
    assert result.schedule is not None
    assert result.report is not None
    found = result.to_frame().set_index("job")
    for assignment in result.schedule.assignments:
        row = found.loc[assignment.job]
        assert row["start"] == assignment.start
        assert row["completion"] == result.report.completion[assignment.job]
        assert row["gpus"] == sum(map(len, assignment.gpus.values()))
        assert row["servers"] == len(assignment.gpus)
        assert row["placement"] == {s: list(gpus) for s, gpus in assignment.gpus.items()}
    assert found["completion"].max() == result.makespan
    assert "begins" not in found
    without = result.schedule.to_frame()
    assert without.equals(result.to_frame().drop(columns="completion"))
    completion = result.report.to_frame().set_index("job")["completion"]
    assert completion.to_dict() == result.report.completion


def test_a_frame_has_clock_times_where_there_is_an_origin() -> None:
    pytest.importorskip("pandas")
    origin = datetime(2026, 3, 2, 8)
    instance = rarmodel.load_instance("two-servers")
    time = instance.time.model_copy(update={"origin": origin})
    dated = instance.model_copy(update={"time": time})
    found = rarmodel.solve(dated, method="first-fit").to_frame()
    second = timedelta(seconds=time.slot_seconds)
    for _, row in found.iterrows():
        assert row["begins"] == origin + row["start"] * second
        assert row["ends"] == origin + row["completion"] * second


def test_without_a_schedule_there_is_no_frame() -> None:
    result = rarmodel.solve("two-servers", method=Fixed("idle", None))
    page_of(result)
    with pytest.raises(NoScheduleError, match="two-servers: no schedule"):
        result.to_frame()


def test_without_pandas_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install 'rarmodel\[pandas\]'"):
        frame([{"a": 1}])


def test_each_cell_of_a_frame_is_one_value() -> None:
    pytest.importorskip("pandas")
    comparisons = rarmodel.compare(
        "two-servers",
        methods=["search"],
        formulations=["time-indexed"],
        solvers=["highs"],
        objective=["makespan", "total-flow"],
        time_limit=2,
    )
    found = comparisons.to_frame()
    for column in found.columns:
        assert not found[column].map(lambda cell: isinstance(cell, list | dict | tuple)).any()
    assert list(found["method"]) == ["search", "time-indexed/highs"]
    assert set(comparisons.log_to_frame()["method"]) == set(found["method"])
    assert set(found["objective"]) == {"makespan,total-flow"}
    row, result = found.iloc[0], comparisons[0].results[0]
    assert row["objective_value"] == row["objective_value_makespan"] == result.makespan
    assert row["objective_value_total-flow"] == result.objective[1].value
    assert row["proved_by"] == result.objective[0].proved_by
    assert "model" not in found.columns
