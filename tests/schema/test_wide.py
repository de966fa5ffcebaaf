"""Wider instances (model, section 9): every fault with its place, and files that round-trip."""

from __future__ import annotations

import json
from typing import Any

import pytest
from depth import examples
from documents import Data, instance_data, job_data, label, removed, replaced
from hypothesis import given
from wide_instances import wide_instances

from rarmodel.errors import InputError
from rarmodel.files import parse_instance, to_json
from rarmodel.schema import Instance, Spread
from rarmodel.schema.references import has_room

TIMES = {"forward_ms_per_sample": 1.0, "backward_ms": 50.0}


def lines_of(data: Data) -> list[str]:
    with pytest.raises(InputError) as refused:
        parse_instance(data)
    return refused.value.lines()


def with_job(**fields: Any) -> Data:
    """Two servers of two GPUs, job a with the fields, and job b."""
    return instance_data(job_data("a", **fields), job_data("b"))


def moldable(*sizes: int, **fields: Any) -> Data:
    data = with_job(gpus=list(sizes), global_batch_size=8, **fields)
    return removed(data, ("jobs", 0, "batch_size"))


def typed(*kinds: str, **fields: Any) -> Data:
    """Servers of these types, and a job a with times of its own."""
    data = with_job(**fields)
    for server, kind in zip(data["cluster"]["servers"], kinds, strict=False):
        server["gpu_type"] = kind
    for name in TIMES:
        del data["jobs"][0][name]
    return data


def with_cluster(**fields: Any) -> Data:
    data = instance_data()
    data["cluster"].update(fields)
    return data


def running(gpus: Data, done: int = 1) -> Data:
    return {"gpus": gpus, "iterations_done": done}


def conflict() -> Data:
    data = with_job(running=running({"s0": [0]}))
    return replaced(data, ("jobs", 1, "running"), running({"s0": [1, 0]}) | {"iterations_done": 0})


FAULTS: list[tuple[str, Data, list[str]]] = [
    (
        "a list of sizes without global_batch_size",
        with_job(gpus=[1, 2]),
        [
            (
                "jobs[0].global_batch_size: missing; a job with a list of ring sizes needs it, in "
                "place of batch_size"
            )
        ],
    ),
    (
        "both batch fields",
        with_job(global_batch_size=8),
        ["jobs[0].batch_size: 1, beside global_batch_size; only one of them may be given"],
    ),
    (
        "sizes that do not ascend",
        moldable(2, 1, 1),
        [
            "jobs[0].gpus[1]: 1 after 2; sizes must ascend",
            "jobs[0].gpus[2]: 1 after 1; sizes must ascend",
        ],
    ),
    ("no size", moldable(), ["jobs[0].gpus: an empty list; at least one entry is expected"]),
    (
        "a size that no cluster of four has",
        moldable(2, 5),
        ["jobs[0].gpus[1]: job 'a' asks for 5 GPUs; the cluster has 4"],
    ),
    (
        "times and plain times",
        with_job(times={"A100": TIMES}),
        [
            "jobs[0].forward_ms_per_sample: 0, beside times; only one may be given",
            "jobs[0].backward_ms: 100, beside times; only one may be given",
        ],
    ),
    (
        "times on servers without a type",
        typed("A100", times={"A100": TIMES}),
        ["jobs[0].times: they need the gpu_type of every server; without one: 's1'"],
    ),
    (
        "an unknown type",
        typed("A100", "A100", times={"A100": TIMES, "V-100": TIMES}),
        ['jobs[0].times["V-100"]: no server has GPUs of this type'],
    ),
    (
        "no times at all",
        typed("A100", "A100", times={}),
        ["jobs[0].times: an empty object; at least one entry is expected"],
    ),
    (
        "half of the times of a type",
        typed("A100", "A100", times={"A100": {"backward_ms": -1}}),
        [
            "jobs[0].times.A100.forward_ms_per_sample: missing; this field is required",
            "jobs[0].times.A100.backward_ms: -1; it must be at least 0",
        ],
    ),
    (
        "a type too small",
        typed("A100", "V100", times={"V100": TIMES}, gpus=3),
        [
            (
                "jobs[0].gpus: job 'a' asks for 3 GPUs; the servers that it may use, with 2 GPUs, "
                "have no room for it"
            )
        ],
    ),
    (
        "an unknown tenant",
        {**with_job(tenant="nlp"), "tenants": [{"name": "vision"}]},
        ["jobs[0].tenant: 'nlp'; tenants lists no such name"],
    ),
    (
        "a tenant twice",
        {**with_job(), "tenants": [{"name": "x"}, {"name": "x", "gpus": 2}]},
        ["tenants[1].name: 'x' names two tenants; names must be unique"],
    ),
    (
        "tenants below others that are not there, below themselves, and with too much",
        {
            **with_job(),
            "tenants": [
                {"name": "a", "parent": "b", "gpus": 2, "guaranteed": 3},
                {"name": "b", "parent": "c"},
                {"name": "c", "parent": "b"},
                {"name": "d", "parent": "e"},
                {"name": "f", "parent": "f", "guaranteed": 2, "gpus": 2},
                {"name": "f"},
            ],
        },
        [
            "tenants[5].name: 'f' names two tenants; names must be unique",
            "tenants[0].guaranteed: 3; it must be at most gpus, 2",
            "tenants[3].parent: 'e'; tenants lists no such name",
            "tenants[2].parent: a cycle, 'b' → 'c' → 'b'; no tenant can be a part of itself",
        ],
    ),
    (
        "a tenant below itself",
        {**with_job(), "tenants": [{"name": "f", "parent": "f"}, {"name": "g", "parent": "f"}]},
        ["tenants[0].parent: a cycle, 'f' → 'f'; no tenant can be a part of itself"],
    ),
    (
        "a guarantee below 0, and a parent without a name",
        {**with_job(), "tenants": [{"name": "a", "guaranteed": -1}, {"name": "b", "parent": ""}]},
        [
            "tenants[0].guaranteed: -1; it must be at least 0",
            "tenants[1].parent: an empty text; it must not be empty",
        ],
    ),
    (
        "a priority that is no whole number",
        with_job(priority=1.5),
        ["jobs[0].priority: 1.5; a whole number is expected"],
    ),
    (
        "a running job on a GPU that another one holds",
        conflict(),
        [
            "jobs[1].running.gpus: 2 GPUs in all; the job's ring has 1",
        ],
    ),
    (
        "a running job on a GPU that another one holds, of the right size",
        replaced(conflict(), ("jobs", 1, "gpus"), 2),
        ["jobs[1].running.gpus: GPU 0 of 's0'; running job 'a' holds it already"],
    ),
    (
        "a running job that lists a GPU twice",
        with_job(gpus=2, running=running({"s0": [1, 1]})),
        ["jobs[0].running.gpus: GPU 1 of 's0'; it is listed twice"],
    ),
    (
        "a running job with all iterations done",
        with_job(iterations=10, running=running({"s0": [0]}, done=10)),
        ["jobs[0].running.iterations_done: 10; it must be below iterations, 10"],
    ),
    (
        "a running job on what is not there",
        with_job(gpus=2, running=running({"s0": [7], "s9": [0]})),
        [
            "jobs[0].running.gpus: GPU 7 of 's0'; it has GPUs 0 to 1",
            "jobs[0].running.gpus: 's9'; the cluster has no such server",
        ],
    ),
    (
        "a running job where it may not be",
        with_job(servers=["s1"], running=running({"s0": [0]})),
        ["jobs[0].running.gpus: 's0'; it is none of the servers that the job may use"],
    ),
    (
        "a running job on a type without times",
        typed("A100", "V100", times={"V100": TIMES}, running=running({"s0": [0]})),
        ["jobs[0].running.gpus: 's0'; times has no entry for its type of GPU"],
    ),
    (
        "a running job that is not spread as it asks for",
        with_job(gpus=2, spread={"min_servers": 2}, running=running({"s0": [0, 1]})),
        ["jobs[0].running.gpus: on 1 server; the job asks for at least 2 servers"],
    ),
    (
        "a running job that is still to come",
        with_job(release=3, after=["b"], running=running({"s0": [0]})),
        [
            "jobs[0].release: 3; a running job was released by slot 0",
            "jobs[0].after: a running job has nothing left to wait for",
        ],
    ),
    (
        "reservations past the server's size",
        with_cluster(
            reservations=[
                {"server": "s0", "gpus": 2, "from": 0, "to": 5},
                {"server": "s0", "gpus": 1, "from": 4, "to": 9},
                {"server": "s1", "gpus": 3, "from": 7},
            ]
        ),
        [
            (
                "cluster.reservations[1].gpus: at slot 4, 3 GPUs of server 's0' are away at once; "
                "it has 2"
            ),
            (
                "cluster.reservations[2].gpus: at slot 7, 3 GPUs of server 's1' are away at once; "
                "it has 2"
            ),
        ],
    ),
    (
        "reservations that make no sense",
        with_cluster(
            reservations=[
                {"server": "s0", "gpus": 1, "from": 5, "to": 5},
                {"server": "s0", "gpus": 0, "from": -1, "too": 3},
            ]
        ),
        [
            "cluster.reservations[0].to: 5; it must be above from, 5",
            "cluster.reservations[1].gpus: 0; it must be at least 1",
            "cluster.reservations[1].from: -1; it must be at least 0",
            "cluster.reservations[1].too: unknown field; was 'to' meant?",
        ],
    ),
    (
        "a reservation of no server",
        with_cluster(reservations=[{"server": "s7", "gpus": 1, "from": 0}]),
        ["cluster.reservations[0].server: 's7'; the cluster has no such server"],
    ),
    (
        "cycles in after",
        instance_data(
            job_data("a", after=["b"]),
            job_data("b", after=["c", "c"]),
            job_data("c", after=["a"]),
            job_data("d", after=["d"]),
            job_data("e", after=["nobody", "a"]),
        ),
        [
            "jobs[4].after[0]: 'nobody'; there is no such job",
            "jobs[2].after: a cycle, 'a' → 'b' → 'c' → 'a'; jobs would wait for ever",
            "jobs[3].after: a cycle, 'd' → 'd'; jobs would wait for ever",
        ],
    ),
    (
        "prices missing for a type",
        replaced(
            typed("A100", "V100", times={"V100": TIMES}),
            ("cluster", "prices_per_gpu_hour"),
            {"A100": 2.0},
        ),
        ["cluster.prices_per_gpu_hour: no price for GPU type 'V100', which a server has"],
    ),
    (
        "prices by type where servers have none",
        with_cluster(prices_per_gpu_hour={"A100": 2.0}),
        ["cluster.prices_per_gpu_hour: by type of GPU, but some servers have no gpu_type"],
    ),
    (
        "prices that are none",
        with_cluster(prices_per_gpu_hour={"A100": -2.0, "V100": "dear"}),
        [
            "cluster.prices_per_gpu_hour.A100: -2.0; it must be at least 0",
            "cluster.prices_per_gpu_hour.V100: 'dear'; a number is expected",
        ],
    ),
    (
        "spread without room: servers",
        with_job(gpus=3, spread={"min_servers": 3}),
        [
            (
                "jobs[0].gpus: job 'a' asks for 3 GPUs on at least 3 servers; the servers that it "
                "may use, with 2, 2 GPUs, have no room for it"
            )
        ],
    ),
    (
        "spread without room: one server",
        with_job(gpus=3, spread={"max_servers": 1}),
        [
            (
                "jobs[0].gpus: job 'a' asks for 3 GPUs on 1 server; the servers that it may use, "
                "with 2, 2 GPUs, have no room for it"
            )
        ],
    ),
    (
        "spread without room: equal parts, of one of the sizes",
        moldable(2, 3, 4, spread={"equal": True}),
        [
            (
                "jobs[0].gpus[1]: job 'a' asks for 3 GPUs on any number of servers with the same "
                "number of GPUs on each; the servers that it may use, with 2, 2 GPUs, have no room "
                "for it"
            )
        ],
    ),
    (
        "spread that nothing keeps",
        with_job(spread={"min_servers": 2, "max_servers": 1, "equal": 1}),
        [
            "jobs[0].spread.equal: 1; true or false is expected",
        ],
    ),
    (
        "fewer servers at most than at least",
        with_job(spread={"min_servers": 2, "max_servers": 1}),
        ["jobs[0].spread.max_servers: 1; it must be at least min_servers, 2"],
    ),
    (
        "unknown servers, and none",
        replaced(with_job(servers=["s0", "s7"]), ("jobs", 1, "servers"), []),
        [
            "jobs[1].servers: an empty list; at least one entry is expected",
            "jobs[0].servers[1]: 's7'; the cluster has no such server",
        ],
    ),
    (
        "an unknown server",
        with_job(servers=["s0", "s7"]),
        ["jobs[0].servers[1]: 's7'; the cluster has no such server"],
    ),
    (
        "no seconds to restore",
        {**with_job(), "preemption": {"restore_seconds": -1}},
        ["preemption.restore_seconds: -1; it must be at least 0"],
    ),
    (
        "how a job is interrupted",
        instance_data(
            job_data("a", preemptible="no", checkpoint_iterations=0),
            job_data("b", preemptible=None, checkpoint_iterations=2.5),
        ),
        [
            "jobs[0].preemptible: 'no'; true or false is expected",
            "jobs[0].checkpoint_iterations: 0; it must be at least 1",
            "jobs[1].preemptible: null; true or false is expected",
            "jobs[1].checkpoint_iterations: 2.5; a whole number is expected",
        ],
    ),
    (
        "null for what has a default",
        {**with_job(release=None, after=None), "tenants": None},
        [
            "tenants: null; a list is expected",
            "jobs[0].release: null; a whole number is expected",
            "jobs[0].after: null; a list is expected",
        ],
    ),
]


@pytest.mark.parametrize(
    ("data", "lines"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_each_fault_is_a_line_with_its_place(data: Data, lines: list[str]) -> None:
    assert lines_of(data) == lines


@pytest.mark.parametrize(
    ("objective", "places", "meant"),
    [
        ("makspan", ["objective"], ["makespan"]),
        ("total flow", ["objective"], ["total-flow"]),
        (
            ["cost", "late-job", "max-strech"],
            ["objective[1]", "objective[2]"],
            ["late-jobs", "max-stretch"],
        ),
    ],
    ids=label,
)
def test_wrong_objective_is_a_line_that_says_what_was_meant(
    objective: object, places: list[str], meant: list[str]
) -> None:
    lines = lines_of({**instance_data(), "objective": objective})
    assert [line.partition(":")[0] for line in lines] == places
    for line, name in zip(lines, meant, strict=True):
        assert " cost, late-jobs, makespan, max-flow, " in line
        assert line.endswith(f"; was {name!r} meant?")


def test_objective_unlike_any_is_a_line_that_lists_them() -> None:
    (line,) = lines_of({**instance_data(), "objective": "profit"})
    assert line.startswith("objective: no objective 'profit'; ")
    assert "meant" not in line


def test_objective_twice_in_a_list_is_one_line() -> None:
    lines = lines_of({**instance_data(), "objective": ["cost", "makespan", "cost"]})
    assert lines == ["objective[2]: 'cost' is in the list already"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "3; a text is expected"),
        ("", "an empty text; it must not be empty"),
        ([], "an empty list; at least one entry is expected"),
        (None, "null; a text is expected"),
    ],
    ids=label,
)
def test_objective_that_is_no_name_is_one_line(value: object, message: str) -> None:
    assert lines_of({**instance_data(), "objective": value}) == [f"objective: {message}"]


def test_faults_of_all_parts_are_listed_at_once() -> None:
    data = instance_data(
        job_data("a", gpus=[1, 2]),
        job_data("b", global_batch_size=8),
        job_data("c", spread={"min_servers": 2, "max_servers": 1}),
        job_data("d", running=running({"s0": [0]}, done=99)),
        job_data("e", due="soon", servers=[]),
    )
    data["objective"] = ["makspan", "cost"]
    data["cluster"]["reservations"] = [{"server": "s0", "gpus": 9, "from": 0}]
    data["cluster"]["prices_per_gpu_hour"] = {"A100": 1.0}
    data["tenants"] = [{"name": "x"}, {"name": "x"}]
    places = [line.partition(": ")[0] for line in lines_of(data)]
    assert places == [
        "cluster.reservations[0].gpus",
        "cluster.prices_per_gpu_hour",
        "objective[0]",
        "tenants[1].name",
        "jobs[0].global_batch_size",
        "jobs[1].batch_size",
        "jobs[2].spread.max_servers",
        "jobs[3].running.iterations_done",
        "jobs[4].due",
        "jobs[4].servers",
    ]


def test_faults_between_jobs_cluster_and_tenants_are_listed_at_once() -> None:
    data = instance_data(
        job_data("a", tenant="nobody", after=["a"]),
        job_data("b", servers=["s7"]),
        job_data("c", gpus=3, spread={"equal": True}),
        job_data("d", running=running({"s0": [0]})),
        job_data("e", running=running({"s0": [0]})),
    )
    data["objective"] = "profit"
    places = [line.partition(": ")[0] for line in lines_of(data)]
    assert places == [
        "objective",
        "jobs[0].after",
        "jobs[1].servers[0]",
        "jobs[2].gpus",
        "jobs[4].running.gpus",
        "jobs[0].tenant",
    ]


def test_jobs_are_checked_against_servers_whose_reservations_and_prices_are_at_fault() -> None:
    data = instance_data(
        job_data("a", servers=["s7"]),
        job_data("b", running=running({"s0": [0]})),
        job_data("c", running=running({"s0": [0]})),
    )
    data["cluster"]["reservations"] = [{"server": "s9", "gpus": 1, "from": 0}]
    data["cluster"]["prices_per_gpu_hour"] = {"A100": 1}
    data["time"]["slot_seconds"] = -1
    places = [line.partition(": ")[0] for line in lines_of(data)]
    assert places == [
        "cluster.reservations[0].server",
        "cluster.prices_per_gpu_hour",
        "time.slot_seconds",
        "jobs[0].servers[0]",
        "jobs[2].running.gpus",
    ]


def test_deadline_that_nobody_can_meet_is_no_fault_of_the_file() -> None:
    assert parse_instance(with_job(deadline=0)).jobs[0].deadline == 0


@pytest.mark.parametrize("length", [3, 5_000])
def test_long_chains_of_jobs_are_followed(length: int) -> None:
    chain = [
        job_data(f"j{i}", after=[f"j{i + 1}"] if i + 1 < length else []) for i in range(length)
    ]
    parse_instance(instance_data(*chain))
    chain[-1]["after"] = ["j0"]
    (line,) = lines_of(instance_data(*chain))
    assert line.startswith(f"jobs[{length - 1}].after: a cycle, 'j0' → ")


@pytest.mark.parametrize(
    ("spread", "size", "capacities", "room"),
    [
        ({}, 4, [2, 2], True),
        ({}, 5, [2, 2], False),
        ({"min_servers": 2}, 1, [2, 2], False),
        ({"min_servers": 2}, 2, [2, 2], True),
        ({"min_servers": 3}, 3, [2, 2], False),
        ({"max_servers": 1}, 3, [2, 3], True),
        ({"max_servers": 1}, 4, [2, 3], False),
        ({"equal": True}, 4, [1, 3], False),
        ({"equal": True}, 4, [2, 3], True),
        ({"equal": True}, 3, [1, 1, 1], True),
        ({"equal": True, "max_servers": 2}, 3, [1, 1, 1], False),
        ({"equal": True, "min_servers": 2}, 4, [4, 1, 1], False),
    ],
    ids=label,
)
def test_room_for_a_spread_ring(spread: Data, size: int, capacities: list[int], room: bool) -> None:
    job = parse_instance(with_job(gpus=1)).jobs[0]
    job = job.model_copy(update={"spread": Spread.model_validate(spread)})
    assert has_room(job, size, capacities) == room


def everything() -> Data:
    """An instance that uses every field."""
    data = typed(
        "A100",
        "V100",
        gpus=2,
        running=running({"s0": [0, 1]}),
        times={"A100": TIMES, "V100": TIMES},
        release=-3,
        tenant="nlp",
    )
    data["jobs"] += [
        job_data(
            "c",
            due=9,
            deadline=30,
            weight=3,
            priority=-1,
            after=["b"],
            servers=["s1", "s0"],
            spread={"min_servers": 1, "max_servers": 2, "equal": True},
            gpus=[1, 2],
            global_batch_size=8,
            preemptible=False,
        ),
        job_data("d", checkpoint_iterations=500),
        job_data("e", checkpoint_iterations=None),
    ]
    del data["jobs"][2]["batch_size"], data["time"]["horizon"]
    data["cluster"]["servers"][0]["intra_server_gbps"] = 300.0
    data["cluster"]["reservations"] = [
        {"server": "s1", "gpus": 1, "from": 2, "to": 4, "reason": "maintenance"},
        {"server": "s0", "gpus": 1, "from": 50},
    ]
    data["cluster"]["prices_per_gpu_hour"] = {"A100": 2.5, "V100": 1.0}
    data["tenants"] = [
        {"name": "nlp", "gpus": 3, "parent": "lab", "guaranteed": 0},
        {"name": "lab", "guaranteed": 4},
    ]
    data["objective"] = ["total-flow", "cost"]
    data["preemption"] = {"restore_seconds": 30.0}
    return data


def test_file_with_every_field_round_trips() -> None:
    instance = parse_instance(everything())
    assert json.loads(to_json(instance)) == everything()
    assert parse_instance(to_json(instance)) == instance


def test_reservations_keep_their_names_in_files() -> None:
    text = to_json(parse_instance(everything()))
    first, second = json.loads(text)["cluster"]["reservations"]
    assert (first["from"], first["to"]) == (2, 4)
    assert second == {"server": "s0", "gpus": 1, "from": 50}


@examples(30)
@given(instance=wide_instances())
def test_random_wide_files_round_trip(instance: Instance) -> None:
    assert parse_instance(to_json(instance)) == instance


def test_sound_jobs_are_checked_against_the_rest_beside_others_with_faults() -> None:
    data = instance_data(
        job_data("a", running={"gpus": {"s0": [0]}, "iterations_done": 1}),
        job_data("b", weight=0),
        job_data("c", tenant="nobody", after=["b", "d"]),
        job_data("c", running={"gpus": {"s0": [0]}, "iterations_done": 1}),
    )
    assert lines_of(data) == [
        "jobs[1].weight: 0; it must be at least 1",
        "jobs[3].name: 'c' names two jobs; names must be unique",
        "jobs[2].after[1]: 'd'; there is no such job",
        "jobs[3].running.gpus: GPU 0 of 's0'; running job 'a' holds it already",
        "jobs[2].tenant: 'nobody'; tenants lists no such name",
    ]
