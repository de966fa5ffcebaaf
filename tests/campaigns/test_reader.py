"""Campaign files, and everything that can be wrong with them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from campaign_files import write_campaign

import rarmodel
from rarmodel.campaigns import (
    bundled_campaigns,
    campaign_reader,
    parse_campaign,
    plan_campaigns,
    read_campaigns,
)
from rarmodel.errors import InputError

GOOD = """\
name: example
instances:
  - lab.json
  - generate: small
    parameters: {servers: 4}
    vary:
      jobs: [3, 5]
  - import: trace.csv
    parameters: {servers: 8, gpus_per_server: 4}
methods:
  - sjf-bco
  - method: search
    options: {iterations: [5, 10]}
formulations:
  - time-indexed
options:
  time_limit: 10
seeds: 3..5
limits: {seconds: 60, memory_mb: 2000}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        parse_campaign(text, "c.yaml")
    assert all(line.startswith("c.yaml: ") for line in error.value.lines())
    return [line.removeprefix("c.yaml: ") for line in error.value.lines()]


def test_short_and_long_forms_are_read() -> None:
    campaign, lines = parse_campaign(GOOD)
    assert [source.instance for source in campaign.instances] == ["lab.json", None, None]
    assert campaign.instances[1].vary == {"jobs": (3, 5)}
    assert campaign.instances[2].import_ == "trace.csv"
    assert [entry.method for entry in campaign.methods] == ["sjf-bco", "search"]
    assert campaign.methods[1].options.given() == {"iterations": (5, 10)}
    assert campaign.options.given() == {"time_limit": (10.0,)}
    assert campaign.seeds == (3, 4, 5)
    assert campaign.limits.seconds == 60
    assert lines["instances[1].vary.jobs"] == 7
    assert lines["seeds"] == 18


def test_all_problems_are_named_with_line_and_place() -> None:
    text = GOOD.replace("name: example", "name: 3").replace("vary:", "varies:")
    text = text.replace("seeds: 3..5", "seeds: 5..3").replace("seconds: 60", "seconds: -1")
    text = text.replace("time_limit: 10", "time_limit: soon")
    assert problems(text) == [
        "line 1, name: 3; a text is expected",
        "line 6, instances[1].varies: unknown field; remove it or correct its name",
        "line 17, options.time_limit: 'soon'; a number is expected",
        "line 18, seeds: '5..3'; a list such as [1, 2] or a range such as 0..19 is expected",
        "line 19, limits.seconds: -1; it must be above 0",
    ]


def test_the_work_of_reading_grows_with_the_keys_and_not_with_their_square() -> None:
    def events(keys: int) -> int:
        """Lines of Python that run in our reader."""
        count = 0

        def trace(frame: FrameType, _: str, __: object) -> Any:
            nonlocal count
            count += frame.f_code.co_filename == campaign_reader.__file__
            return trace

        text = GOOD + "".join(f"key_{i}: {{a: 1}}\n" for i in range(keys))
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            found = problems(text)
        finally:
            sys.settrace(before)
        assert len(found) == keys
        return count

    assert events(800) < 2.5 * events(400)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["empty; a campaign in YAML is expected"]),
        ("# nothing", ["empty; a campaign in YAML is expected"]),
        ("- a", ["line 1: the top level is a list; an object is expected"]),
        ("name: [", ["line 1, column 8: not YAML: expected the node content, but found"]),
        ("a: 1\n---\nb: 2", ["line 2, column 1: not YAML: but found another document"]),
        ("name: !!python/object:os.system x", ["line 1, column 7: not YAML: could not determine"]),
        ("name: a\nname: b", ["line 2: 'name' occurs twice in one object; keep one"]),
        ("name: &a x\ndescription: *a", ["line 2: an alias; write out what it stands for"]),
        (
            "name: " + "[" * 101 + "]" * 101,
            ["line 1: nested too deeply; at most 100 levels are possible"],
        ),
        (
            "name: " + "{a: " * 50_000,
            ["line 1: nested too deeply; at most 100 levels are possible"],
        ),
        ("name: " + "[" * 99 + "]" * 99, ["line 1, name: a list; a text is expected"]),
        ("name: a\x00", ["not YAML: unacceptable character"]),
    ],
)
def test_what_is_no_campaign_is_refused(text: str, expected: list[str]) -> None:
    found = problems(text)
    for line in expected:
        assert any(one.startswith(line) for one in found), found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("  - lab.json", "  - {instance: a, generate: b}", "line 3, instances[0]: exactly one of"),
        ("  - lab.json", "  - {}", "line 3, instances[0]: exactly one of"),
        ("  - lab.json", "  - {instance: a, vary: {x: [1]}}", "line 3, instances[0]: a file has"),
        ("servers: 4", "jobs: 4", "line 7, instances[1].vary.jobs: it is among the parameters too"),
        ("[3, 5]", "[]", "line 7, instances[1].vary.jobs: an empty list"),
        ("[3, 5]", "3", "line 7, instances[1].vary.jobs: 3; a list is expected"),
        ("servers: 4", "servers: .nan", "line 5, instances[1].parameters.servers: nan; a finite"),
        (
            "servers: 4",
            "servers: !!timestamp 2020-01-01",
            "line 5, instances[1].parameters.servers",
        ),
        ("servers: 4", "4: servers", "line 5, instances[1].parameters: a key that is not text"),
        ("3..5", "7", "line 18, seeds: 7; a list such as"),
        ("3..5", "[]", "line 18, seeds: an empty list"),
        ("3..5", "[1, -1]", "line 18, seeds[1]: -1; it must be at least 0"),
        ("3..5", "0..9999999999", "line 18, seeds: '0..9999999999'; seeds go up to 2147483647"),
        ("3..5", "0..1000000", "line 18, seeds: '0..1000000'; 1,000,000 seeds at most"),
        ("[5, 10]", "[5, 1.5]", "line 13, methods[1].options.iterations[1]: 1.5; a whole number"),
    ],
)
def test_a_value_out_of_place_is_named(old: str, new: str, expected: str) -> None:
    found = problems(GOOD.replace(old, new))
    assert any(line.startswith(expected) for line in found), found


def test_nothing_to_run_is_refused() -> None:
    assert problems("name: a\ninstances: [b]\n") == [
        "line 1: no methods, formulations or policies; name some"
    ]


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes("name: größe".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8 text"):
        read_campaigns(path)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_campaigns("nowhere.yaml")
    with pytest.raises(InputError, match="neither a file nor a bundled campaign"):
        read_campaigns("nowhere")


def test_unknown_names_and_unusable_instances_are_named_together(folder: Path) -> None:
    (folder / "broken.json").write_text("{}")
    path = write_campaign(
        folder,
        """\
name: wrong
instances:
  - broken.json
  - nowhere.json
  - generate: enormous
  - generate: small
    vary: {colour: [red]}
methods:
  - nothing
  - {method: first-fit, parameters: {kappa: 2}}
  - {method: sjf-bco, vary: {kappa: [1, 0.5]}}
  - {method: sjf-bco, parameters: {lambda: 2}}
  - {method: sjf-bco, options: {iterations: 3}}
formulations:
  - {formulation: time-indexed, solvers: [highs, guess]}
  - {formulation: time-indexed, data: nowhere.json}
""",
    )
    with pytest.raises(InputError) as error:
        plan_campaigns([path])
    lines = [line.removeprefix(f"{path}: ") for line in error.value.lines()]
    for line, said in [
        (9, "no method 'nothing'"),
        (10, "'first-fit' takes no parameters"),
        (11, "kappa 0.5"),
        (12, "choose from kappa, servers_factor"),
        (13, "does not count iterations"),
        (15, "no solver 'guess'"),
        (16, "cannot be read"),
        (3, "broken.json: schema_version: missing"),
        (4, "nowhere.json: cannot be read"),
        (5, "no family 'enormous'"),
        (6, "no setting colour"),
    ]:
        assert any(one.startswith(f"line {line}, ") and said in one for one in lines), (line, said)


@pytest.mark.parametrize(
    ("source", "parameters", "expected"),
    [
        ("generate: small", "{family: paper}", "multiple values for argument 'family'"),
        ("import: t.csv", "{source: u.csv}", "multiple values for argument 'source'"),
        ("import: t.csv", "{slurm_conf: 5}", "slurm conf 5: the name of a file is expected"),
        ("import: t.csv", "{cluster: [1]}", "cluster a list: the name of a file is expected"),
    ],
)
def test_a_parameter_of_a_wrong_type_is_one_line(
    folder: Path, source: str, parameters: str, expected: str
) -> None:
    (folder / "t.csv").write_text("timestamp,duration,num_gpus\n2017-10-09 07:01:55,600,1\n")
    text = f"name: w\nmethods: [sjf-bco]\ninstances:\n  - {source}\n    parameters: {parameters}\n"
    with pytest.raises(InputError) as error:
        plan_campaigns([write_campaign(folder, text)])
    (line,) = error.value.lines()
    assert "line 4, instances[0]: " in line
    assert expected in line


def test_a_method_that_refuses_a_parameter_is_named(folder: Path) -> None:
    text = (
        "name: w\ninstances: [one.json]\nmethods:\n"
        "  - {method: 'campaign_methods:TURNS', parameters: {seconds: soon}}\n"
    )
    with pytest.raises(InputError, match=r"methods\[0\]: method 'turns': .*could not convert"):
        plan_campaigns([write_campaign(folder, text)])


def test_more_runs_than_can_be_planned_are_refused_at_once(folder: Path) -> None:
    values = list(range(1, 101))
    text = (
        "name: w\ninstances: [one.json]\nseeds: 0..99\nmethods:\n"
        f"  - {{method: sjf-bco, vary: {{kappa: {values}, servers_factor: {values}}}}}\n"
        "  - first-fit\n"
    )
    with pytest.raises(InputError, match="1,000,100 runs; 1,000,000 at most are possible"):
        plan_campaigns([write_campaign(folder, text)])


def test_two_campaigns_need_two_names(folder: Path) -> None:
    text = "name: same\ninstances: [one.json]\nmethods: [sjf-bco]\n"
    paths = [write_campaign(folder, text, name) for name in ("a.yaml", "b.yaml")]
    with pytest.raises(InputError, match="'same' names another campaign too"):
        plan_campaigns(paths)


def test_a_folder_of_its_name_does_not_hide_what_is_bundled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("figures", "figure-7", "two-servers"):
        (tmp_path / name).mkdir()
    assert len(read_campaigns("figures")) == len(bundled_campaigns())
    assert read_campaigns("figure-7")[0][0].name == "figure-7"
    assert rarmodel.load_instance("two-servers").name == "two-servers"
    text = "name: beside\ninstances: [two-servers]\nmethods: [sjf-bco]\n"
    assert len(plan_campaigns([write_campaign(tmp_path, text)]).runs) == 1
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(InputError, match="elsewhere: cannot be read: is a directory"):
        rarmodel.load_instance("elsewhere")


def test_bundled_campaigns_can_be_planned() -> None:
    names = bundled_campaigns()
    together = read_campaigns("figures")
    assert [campaign.name for campaign, _, _ in together] == names
    for name in names:
        ((campaign, _, _),) = read_campaigns(name)
        assert campaign.name == name
