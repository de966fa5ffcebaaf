"""Wrong arguments are refused with a sentence, all at once; NumPy's numbers are numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import documents
import numpy as np
import pandas as pd
import pytest
from documents import assignment_data, instance_data, instance_of, job_data, schedule_of
from serving_instances import demand, service, with_services

import rarmodel
from rarmodel import InputError, Instance, Limits, UsageError, campaigns
from rarmodel.argument_checks import plain
from rarmodel.limits import most_threads

GOOD = schedule_of(assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0]))

TWO = rarmodel.load_instance("two-servers")
RESULT = rarmodel.solve(TWO, method="first-fit")

SERVING = with_services(service("chat", demand(0, 1, 1.0)))
"""An instance with a service."""

NEEDED: dict[str, dict[str, Any]] = {
    "audit": {"instance": "two-servers"},
    "calibrate": {},
    "certificate": {"instance": "two-servers", "result": RESULT},
    "check": {"instance": "two-servers", "certificate": rarmodel.certificate(TWO, RESULT)},
    "compare": {"instances": "two-servers"},
    "compare_models": {"table": []},
    "compare_terms": {"table": "table.csv"},
    "describe": {"instance": "two-servers"},
    "formulate": {"instance": "two-servers", "formulation": "time-indexed"},
    "frontier": {"instance": SERVING},
    "generate": {},
    "import_requests": {"requests": "log.csv", "instance": SERVING, "service": "chat"},
    "import_trace": {"source": "trace.csv"},
    "list_instances": {},
    "parts": {},
    "load_instance": {"source": "two-servers"},
    "plot": {"instance": instance_of(), "schedules": GOOD},
    "read_instance": {"source": "file.json"},
    "read_schedule": {"source": "file.json"},
    "relax": {"instance": "two-servers", "formulation": "time-indexed"},
    "report": {"instance": instance_of(), "schedules": GOOD},
    "report_simulations": {"instance": instance_of(), "schedules": GOOD},
    "simulate": {"instance": "two-servers", "policy": "fifo"},
    "solve": {"instance": "two-servers", "method": "first-fit"},
    "to_json": {"record": instance_of()},
    "verify": {"instance": instance_of(), "schedule": GOOD},
    "what_if": {"instances": "two-servers", "changes": ["servers=+1"], "method": "first-fit"},
    "write_text": {"path": "file", "text": "text"},
}
"""For each public function that takes anything, the least that it takes."""

BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("solve", "formulation"): {"method": None},
    ("solve", "solver"): {"method": None, "formulation": "time-indexed"},
    ("solve", "data"): {"method": None, "formulation": "time-indexed"},
    ("compare", "solvers"): {"formulations": ["time-indexed"]},
    ("compare", "data"): {"formulations": ["time-indexed"]},
    ("what_if", "policy"): {"method": None},
    ("what_if", "placement"): {"method": None},
}
"""Arguments without which a parameter is refused in any case."""


def parameters_of(name: str) -> list[str]:
    """Names of a function's parameters, without those that it has by any name."""
    found = inspect.signature(getattr(rarmodel, name)).parameters.values()
    return [one.name for one in found if one.kind is not one.VAR_KEYWORD]


FUNCTIONS = [name for name in rarmodel.__all__ if inspect.isfunction(getattr(rarmodel, name))]


def test_there_is_a_case_for_each_function_that_takes_something() -> None:
    assert {name for name in FUNCTIONS if parameters_of(name)} == set(NEEDED)


@pytest.mark.parametrize("value", [object(), 3.5, b"bytes"])
@pytest.mark.parametrize(
    ("function", "parameter"), [(name, one) for name in NEEDED for one in parameters_of(name)]
)
def test_every_parameter_refuses_what_it_cannot_be(
    function: str, parameter: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value == 3.5 and parameter in {"time_limit", "max_size_mb", "scale"}:
        return
    monkeypatch.chdir(tmp_path)
    given = {**NEEDED[function], **BESIDE.get((function, parameter), {}), parameter: value}
    with pytest.raises(UsageError) as refused:
        getattr(rarmodel, function)(**given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"time_limit": "10"}, "time limit '10': it must be a number"),
        ({"time_limit": True}, "time limit True: it must be a number"),
        ({"time_limit": float("nan")}, "time limit nan: it must be at least 0 seconds"),
        ({"gap": None}, "gap None: it must be a number"),
        ({"gap": 1}, "gap 1: it must be at least 0 and below 1"),
        ({"threads": 2.0}, "threads 2.0: it must be a whole number from 1 to "),
        ({"threads": 0}, "threads 0: it must be a whole number from 1 to "),
        ({"seed": True}, "seed True: it must be a whole number from 0 to 2147483647"),
        ({"seed": "1"}, "seed '1': it must be a whole number from 0 to 2147483647"),
        ({"objective": 3}, "objective 3: a name or a list of names is expected"),
        ({"objective": ["makespan", 3]}, "objective a list: a name or a list of names is expected"),
        ({"log": "yes"}, "log 'yes': it must be a function"),
        ({"progress": 1}, "progress 1: it must be a function"),
        ({"iterations": 1.5}, "iterations 1.5: it must be a whole number of at least 1"),
        ({"model_only": 0}, "model only 0: it must be True or False"),
        ({"scheduler": 8786}, "scheduler 8786: it must be a text"),
        ({"bounds": "area"}, "bounds 'area': a list is expected, such as ['area']"),
        ({"data": [1]}, "data a list: a dict or a file's name is expected"),
    ],
)
def test_a_wrong_option_is_named_with_what_would_be_right(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        rarmodel.solve("two-servers", **options)
    assert str(refused.value).startswith(said)


def test_all_wrong_arguments_are_named_at_once() -> None:
    wrong: Any = {"time_limit": "10", "seed": -1, "threads": 0.5, "bounds": 3}
    with pytest.raises(UsageError) as refused:
        rarmodel.solve(None, **wrong)  # type: ignore[arg-type]
    said = str(refused.value).split("; ")
    assert [one.partition(" ")[0] for one in said] == [
        *("instance", "time", "threads", "seed", "bounds")
    ]
    with pytest.raises(UsageError) as refused:
        Limits(time_limit=-1, seed=1.0, gap="0")  # type: ignore[arg-type]
    assert len(str(refused.value).split("; ")) == 3


def test_a_name_where_a_list_is_meant_is_refused() -> None:
    with pytest.raises(
        UsageError,
        match=r"methods 'fifo-backfill': a list is expected, such as \['fifo-backfill'\]",
    ):
        rarmodel.compare("two-servers", methods="fifo-backfill")


def test_an_unknown_or_missing_parameter_is_said_by_python() -> None:
    solve: Callable[..., Any] = rarmodel.solve
    with pytest.raises(TypeError, match="unexpected keyword argument 'tme_limit'"):
        solve("two-servers", tme_limit=3)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        solve()


def test_numbers_of_numpy_are_numbers() -> None:
    limits = Limits(
        time_limit=np.float64(3),
        threads=np.int64(2),  # type: ignore[arg-type]
        seed=np.int32(7),  # type: ignore[arg-type]
    )
    assert limits == Limits(3.0, threads=2, seed=7)
    assert [type(one) for one in (limits.time_limit, limits.threads, limits.seed)] == [
        *(float, int, int)
    ]
    for seed in np.arange(2):
        options: dict[str, Any] = {"method": "random", "seed": seed}
        result = rarmodel.solve("two-servers", **options)
        again = rarmodel.solve("two-servers", method="random", seed=int(seed))
        assert result.schedule == again.schedule


def test_threads_have_a_ceiling() -> None:
    Limits(threads=most_threads())
    with pytest.raises(UsageError, match="or as many as the machine has processors"):
        rarmodel.solve("two-servers", threads=5000)
    with pytest.raises(UsageError, match="threads 5000"):
        rarmodel.compare("two-servers", threads=5000)
    with pytest.raises(UsageError, match="threads 5000"):
        rarmodel.audit("two-servers", threads=5000)


@pytest.mark.parametrize("knob", ["jobs", "seed", "servers", "sizes", "features"])
@pytest.mark.parametrize("value", [object(), "three", b"x"])
def test_settings_of_a_family_are_refused_with_a_sentence(knob: str, value: object) -> None:
    with pytest.raises(UsageError):
        rarmodel.generate("paper", **{knob: value})  # type: ignore[arg-type]


CAMPAIGNS: dict[str, dict[str, Any]] = {
    "campaign_plot": {"source": "out"},
    "campaign_table": {"source": "out"},
    "campaign_report": {"source": "out"},
    "compare_figures": {"folder": "out"},
    "export": {"folder": "out", "output": "table.csv"},
    "parse_campaign": {"text": ""},
    "plan_campaigns": {"sources": ["one.yaml"]},
    "read_campaigns": {"source": "one.yaml"},
    "run_campaigns": {"sources": "one.yaml", "output": "out"},
    "simulations_report": {"folder": "out"},
    "standing": {"folder": "out"},
}


@pytest.mark.parametrize("value", [object(), 3.5, b"bytes", [object()]])
@pytest.mark.parametrize("function", CAMPAIGNS)
def test_functions_for_campaigns_refuse_what_an_argument_cannot_be(
    function: str, value: object
) -> None:
    asked = getattr(campaigns, function)
    for parameter in inspect.signature(asked).parameters:
        with pytest.raises(UsageError) as refused:
            asked(**{**CAMPAIGNS[function], parameter: value})
        assert "\n" not in str(refused.value)


def test_there_is_a_case_for_each_function_for_campaigns() -> None:
    functions = {one for one in campaigns.__all__ if inspect.isfunction(getattr(campaigns, one))}
    assert functions - {"bundled_campaigns"} == set(CAMPAIGNS)


# Instances and schedules as dicts


def test_a_dict_is_an_instance_for_every_function() -> None:
    data = instance_data()
    assert rarmodel.load_instance(data) == instance_of()
    result = rarmodel.solve(data, method="first-fit")
    assert result.schedule is not None
    as_data = result.schedule.model_dump(mode="json", exclude_unset=True)
    assert rarmodel.verify(data, as_data).feasible
    assert rarmodel.describe(data).instance == instance_of()
    assert rarmodel.compare(data, methods=["first-fit"])[0].best_makespan == result.makespan
    assert len(rarmodel.compare([data, "two-servers"], methods=["first-fit"])) == 2
    assert rarmodel.simulate(data, "fifo").verified
    assert rarmodel.plot(data, as_data).to_dict()["vconcat"]
    assert "</html>" in rarmodel.report(data, [as_data, result.schedule])


def test_a_dict_with_wrong_values_has_all_its_problems() -> None:
    data = instance_data(job_data("a", gpus=-1), {**job_data("b"), "gpus": "2"})
    with pytest.raises(InputError) as refused:
        rarmodel.solve(data)
    assert refused.value.lines() == [
        "jobs[0].gpus: -1; it must be at least 1",
        "jobs[1].gpus: '2'; a whole number is expected",
    ]


def test_a_dict_made_from_a_data_frame_is_an_instance() -> None:
    jobs = pd.DataFrame(
        {
            **{name: [value] * 2 for name, value in job_data("a").items() if name != "name"},
            "name": np.array(["a", "b"]),
            "gpus": np.array([2, 1], np.int64),
            "gradient_mb": np.array([0.5, 1.0], np.float32),
        }
    )
    rows = [row.to_dict() for _, row in jobs.iterrows()]
    rows[0]["gpus"] = np.int16(2)
    data = {**instance_data(), "jobs": np.array(rows, object)}
    data["time"] = {"slot_seconds": np.float64(1.0), "horizon": np.uint8(20)}
    loaded = rarmodel.load_instance(data)
    assert [(job.name, job.gpus) for job in loaded.jobs] == [("a", 2), ("b", 1)]
    assert type(loaded.jobs[0].gpus) is int
    assert type(loaded.time.horizon) is int
    assert rarmodel.solve(data, method="first-fit").report is not None


def test_frames_rows_still_follow_the_rules_of_the_format() -> None:
    data = {**instance_data(), "time": {"slot_seconds": np.bool_(True), "horizon": np.float64(20)}}
    with pytest.raises(InputError) as refused:
        rarmodel.load_instance(data)
    assert refused.value.lines() == [
        "time.slot_seconds: true; a number is expected",
        "time.horizon: 20.0; a whole number is expected",
    ]


def test_a_dict_that_holds_itself_is_refused() -> None:
    data: dict[str, Any] = instance_data()
    data["jobs"] = [data]
    with pytest.raises(InputError, match="nested too deeply"):
        rarmodel.load_instance(data)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "None"),
        (3, "3"),
        ([1, 2], "a list"),
        (b"two-servers", "b'two-servers'"),
        (pd.DataFrame({"a": [1]}), "a DataFrame"),
    ],
)
def test_what_is_no_instance_is_refused_with_a_sentence(source: Any, said: str) -> None:
    words = "an instance, a dict, a file's name or the name of a bundled instance is expected"
    for function in (rarmodel.solve, rarmodel.describe):
        with pytest.raises(UsageError) as refused:
            function(source)
        assert str(refused.value) == f"instance {said}: {words}"


def test_an_open_file_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    path.write_text(rarmodel.to_json(instance_of()), encoding="utf-8")
    with path.open() as file, pytest.raises(UsageError, match="give the file's name instead"):
        rarmodel.solve(file)  # type: ignore[arg-type]
    with path.open() as file, pytest.raises(UsageError, match="give the file's name instead"):
        rarmodel.read_instance(file)  # type: ignore[arg-type]


def test_a_result_is_no_schedule_but_has_one() -> None:
    result: Any = rarmodel.solve(instance_of(), method="first-fit")
    with pytest.raises(UsageError, match=r"schedule a Result: .*give its `.schedule`"):
        rarmodel.verify(instance_of(), result)


def test_plain_data_has_no_numbers_of_numpys() -> None:
    found = plain({np.str_("a"): [np.int8(1), (np.float32(0.5), np.array([[True]]))]})
    assert found == {"a": [1, [0.5, [[True]]]]}
    assert [type(key) for key in found] == [str]


# Copies that nobody has checked

FUNCTIONS_OF_INSTANCES: list[Callable[[Instance], Any]] = [
    rarmodel.solve,
    lambda one: rarmodel.solve(one, formulation="time-indexed"),
    lambda one: rarmodel.compare([one], methods=["first-fit"]),
    lambda one: rarmodel.simulate(one, "fifo"),
    lambda one: rarmodel.verify(one, GOOD),
    rarmodel.describe,
    rarmodel.audit,
    lambda one: rarmodel.formulate(one, "time-indexed"),
    lambda one: rarmodel.plot(one, GOOD),
    lambda one: rarmodel.report(one, GOOD),
    rarmodel.to_json,
    lambda one: rarmodel.load_instance({**vars(one)}),
]


@pytest.mark.parametrize("function", FUNCTIONS_OF_INSTANCES)
def test_a_copy_with_wrong_values_is_an_input_error(function: Callable[[Instance], Any]) -> None:
    sound = instance_of()
    wrong = sound.jobs[0].model_copy(update={"gpus": 2.5, "iterations": "many"})
    copy = sound.model_copy(update={"jobs": (wrong, sound.jobs[1])})
    with pytest.raises(InputError) as refused:
        function(copy)
    assert [one.place for one in refused.value.problems] == ["jobs[0].gpus", "jobs[0].iterations"]


@pytest.mark.parametrize(
    ("update", "place"),
    [
        ({"jobs": ()}, "jobs"),
        ({"jobs": "none"}, "jobs"),
        ({"time": None}, "time"),
        ({"objective": "nothing"}, "objective"),
        ({"name": 3}, "name"),
        ({"cluster": object()}, "cluster"),
        ({"horizen": 3}, "horizen"),
    ],
)
def test_each_wrong_field_of_a_copy_has_its_line(update: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError) as refused:
        rarmodel.solve(instance_of().model_copy(update=update))
    assert [one.place for one in refused.value.problems] == [place]


def test_a_job_that_no_server_can_hold_is_seen_in_a_copy() -> None:
    sound = instance_of()
    wide = sound.jobs[0].model_copy(update={"gpus": 99})
    with pytest.raises(InputError, match=r"jobs\[0\].gpus: job 'a' asks for 99 GPUs"):
        rarmodel.solve(sound.model_copy(update={"jobs": (wide,)}))


def test_a_copy_with_plain_data_or_numbers_of_numpys_is_made_right() -> None:
    sound = instance_of()
    copy = sound.model_copy(update={"time": {"slot_seconds": np.float64(1), "horizon": 20}})
    assert rarmodel.load_instance(copy) == sound
    job = sound.jobs[0].model_copy(update={"gpus": np.int64(2)})
    loaded = rarmodel.load_instance(sound.model_copy(update={"jobs": (job, sound.jobs[1])}))
    assert type(loaded.jobs[0].gpus) is int


def test_a_sound_instance_is_itself() -> None:
    for name in ("two-servers", "rack-tree"):
        instance = rarmodel.load_instance(name)
        assert rarmodel.load_instance(instance) is instance
    wide = rarmodel.generate("wide", jobs=5, objective=["total-flow", "makespan"])
    assert rarmodel.load_instance(wide) is wide
    assert "tenants" not in rarmodel.to_json(wide)


def test_an_objective_by_its_path_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "aims_by_path.py").write_text(
        "from rarmodel.model.objectives import Objective, Term\n"
        "LAST = Objective('last', 'the last', 'slots', greatest=True, term=lambda *_: Term())\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    drawn = rarmodel.generate("small", jobs=3, objective="aims_by_path:LAST")
    assert rarmodel.load_instance(drawn) is drawn
    assert rarmodel.solve(drawn, method="fifo-backfill").objective[0].name == "last"


def test_a_schedule_that_is_a_wrong_copy_is_an_input_error() -> None:
    copy = GOOD.model_copy(update={"instance": 3, "assignments": None})
    with pytest.raises(InputError) as refused:
        rarmodel.verify(instance_of(), copy)
    assert {one.place for one in refused.value.problems} == {"instance", "assignments"}
    assert documents.schedule_of() != copy
