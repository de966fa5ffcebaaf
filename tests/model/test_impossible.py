"""Jobs that complete in no schedule: named with what keeps them out, and never a job that can."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from preemptive_optimum import optima as preemptive_optima
from wide_instances import WIDE, random_wide
from wide_optimum import optimum

from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.model import horizon_of, impossible, never_complete, too_short
from rarmodel.model.features import (
    DEADLINES,
    DEPENDENCIES,
    GPU_TYPES,
    PREEMPTION,
    QUOTAS,
    RELEASES,
    RESERVATIONS,
    RING_SIZES,
    RUNNING_JOBS,
    SERVER_LISTS,
    SPREADS,
)
from rarmodel.schema import Instance

FEATURES = [feature.name for feature in WIDE]


def case(*jobs: dict[str, Any], **top: Any) -> Instance:
    """Two servers of two GPUs; a ring over both exchanges for 1 s in an iteration of 1 s more."""
    job = {
        "gradient_mb": 1000.0,
        "batch_size": 1,
        "forward_ms_per_sample": 0.0,
        "backward_ms": 1000.0,
        "iterations": 4,
    }
    cluster = {
        "servers": [{"name": "s0", "gpus": 2}, {"name": "s1", "gpus": 2}],
        "network": {"kind": "star", "gbps": 8.0},
        "intra_server_gbps": 1e9,
        "reduction_gbps": 1e9,
        "reservations": top.pop("reservations", []),
    }
    return parse_instance(
        {
            "schema_version": 1,
            "name": "case",
            "time": {"slot_seconds": top.pop("slot_seconds", 2.6)},
            "cluster": cluster,
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 2.0},
                "overhead_ms_per_server": 0.0,
            },
            "jobs": [{"name": f"j{i}"} | job | one for i, one in enumerate(jobs)],
            **top,
        }
    )


FOR_EVER = {"server": "s1", "gpus": 1, "from": 0}
TENANT = {"tenants": [{"name": "t", "gpus": 2}]}
MOLDABLE = {"gpus": [1, 4], "batch_size": None, "global_batch_size": 4}
NAMED = [
    (
        case({"gpus": 4, "tenant": "t"}, {"gpus": 1}, **TENANT),
        (
            (
                "job 'j0' can never run: its ring of 4 GPUs is beyond the cap of 2 GPUs of "
                "tenant 't' "
                "(tenants[0].gpus)"
            ),
        ),
    ),
    (  # The cap is that of a tenant above the job's.
        case(
            {"gpus": 4, "tenant": "t"},
            tenants=[
                {"name": "t", "parent": "u", "gpus": 4},
                {"name": "u", "parent": "v"},
                {"name": "v", "gpus": 3},
            ],
        ),
        (
            (
                "job 'j0' can never run: its ring of 4 GPUs is beyond the cap of 3 GPUs of "
                "tenant 'v' (tenants[2].gpus)"
            ),
        ),
    ),
    (
        case({"gpus": 1, "after": ["j1"]}, {"gpus": 4, "tenant": "t"}, **TENANT),
        (
            "job 'j0' can never run: it waits for 'j1', which never completes",
            (
                "job 'j1' can never run: its ring of 4 GPUs is beyond the cap of 2 GPUs of "
                "tenant 't' "
                "(tenants[0].gpus)"
            ),
        ),
    ),
    (
        case({"gpus": 4}, reservations=[FOR_EVER]),
        (
            (
                "job 'j0' can never run: its ring of 4 GPUs finds no room beside "
                "cluster.reservations[0] (1 GPU of 's1' from slot 0 on)"
            ),
        ),
    ),
    (
        case(
            {"gpus": 2, "spread": {"min_servers": 2, "equal": True}, "servers": ["s0", "s1"]},
            reservations=[FOR_EVER | {"gpus": 2}],
        ),
        (
            (
                "job 'j0' can never run: its ring of 2 GPUs on at least 2 servers with the same "
                "number "
                "of GPUs on each on its own servers finds no room beside cluster.reservations[0] "
                "(2 GPUs of 's1' from slot 0 on)"
            ),
        ),
    ),
    (  # It takes four slots over both servers, and has three.
        case({"gpus": 4, "release": 1}, reservations=[FOR_EVER | {"from": 4}]),
        (
            (
                "job 'j0' can never run: its ring of 4 GPUs never has a place with progress for "
                "long "
                "enough beside cluster.reservations[0] (1 GPU of 's1' from slot 4 on)"
            ),
        ),
    ),
    (  # Over both servers it makes no progress, and each has one GPU left.
        case(
            {"gpus": 2},
            slot_seconds=1.9,
            reservations=[
                FOR_EVER,
                FOR_EVER | {"server": "s0", "to": 9},
                FOR_EVER | {"server": "s0", "from": 9},
            ],
        ),
        (
            (
                "job 'j0' can never run: its ring of 2 GPUs never has a place with progress for "
                "long "
                "enough beside cluster.reservations[0] (1 GPU of 's1' from slot 0 on), "
                "cluster.reservations[2] (1 GPU of 's0' from slot 9 on), "
                "cluster.reservations[1] (1 GPU of 's0' from slot 0 to 9)"
            ),
        ),
    ),
    (  # A ring of one GPU takes four samples one after another.
        case(
            {
                "gpus": [1, 4],
                "batch_size": None,
                "global_batch_size": 4,
                "tenant": "t",
                "forward_ms_per_sample": 600.0,
                "backward_ms": 300.0,
            },
            slot_seconds=2.5,
            **TENANT,
        ),
        (
            (
                "job 'j0' can never run: it makes no progress in rings within the cap of 2 GPUs of "
                "tenant 't' (tenants[0].gpus)"
            ),
        ),
    ),
    (  # The quota leaves rings of one server, and reservations none of them room.
        case(
            {
                "gpus": [2, 4],
                "batch_size": None,
                "global_batch_size": 4,
                "tenant": "t",
                "spread": {"min_servers": 1},
            },
            slot_seconds=1.95,
            reservations=[FOR_EVER, FOR_EVER | {"server": "s0"}],
            **TENANT,
        ),
        (
            (
                "job 'j0' can never run: its ring of 2 or 4 GPUs on any number of servers never "
                "has a "
                "place with progress for long enough beside cluster.reservations[0] "
                "(1 GPU of 's1' from slot 0 on), cluster.reservations[1] (1 GPU of 's0' from "
                "slot 0 on)"
            ),
        ),
    ),
    (  # Until slot 4 the other runs there, and from slot 3 on one GPU is away.
        case(
            {"gpus": 2, "servers": ["s0"]},
            {"gpus": 1, "running": {"gpus": {"s0": [0]}, "iterations_done": 0}, "iterations": 8},
            reservations=[FOR_EVER | {"server": "s0", "from": 3}],
        ),
        (
            (
                "job 'j0' can never run: its ring of 2 GPUs on its own servers finds no room "
                "beside "
                "cluster.reservations[0] (1 GPU of 's0' from slot 3 on) and the jobs that run "
                "at slot 0"
            ),
        ),
    ),
    (  # Two rings on both links have a fourth of the rate each: 1 s + 4 s an iteration.
        case(
            *(
                {"gpus": 2, "running": {"gpus": {"s0": [i], "s1": [i]}, "iterations_done": 1}}
                for i in range(2)
            ),
            {"gpus": 1, "after": ["j0"]},
        ),
        (
            (
                "job 'j0' never completes: it runs on 's0' (1 GPU) and 's1' (1 GPU), where it "
                "makes no "
                "progress beside the running job 'j1', and jobs are not interrupted"
            ),
            (
                "job 'j1' never completes: it runs on 's0' (1 GPU) and 's1' (1 GPU), where it "
                "makes no "
                "progress beside the running job 'j0', and jobs are not interrupted"
            ),
            "job 'j2' can never run: it waits for 'j0', which never completes",
        ),
    ),
]


@pytest.mark.parametrize(("instance", "lines"), NAMED)
def test_a_job_that_never_completes_is_named_with_what_keeps_it_out(
    instance: Instance, lines: tuple[str, ...]
) -> None:
    assert never_complete(instance) == lines
    assert too_short(instance) == lines
    assert optimum(instance, 14) is None


def test_reservations_that_make_a_job_late_are_told() -> None:
    back_at_three = [FOR_EVER | {"to": 3}]
    assert too_short(case({"gpus": 4, "deadline": 7}, reservations=back_at_three)) == ()
    late = case(
        {"gpus": 4, "deadline": 6}, {"gpus": 1, "after": ["j0"]}, reservations=back_at_three
    )
    assert never_complete(late) == ()
    assert too_short(late) == (
        (
            "job 'j0' can complete by slot 7 at the earliest, beside what is reserved, caps and "
            "jobs "
            "that run at slot 0, and must complete by slot 6"
        ),
    )
    assert optimum(late, 14) is None


def test_jobs_that_may_be_interrupted_add_up_what_they_do() -> None:
    """Four slots before, in two parts; after slot 6 nothing is left."""
    away = [FOR_EVER | {"from": 2, "to": 4}, FOR_EVER | {"from": 6}]
    job = {"gpus": 4, "spread": {"min_servers": 2}}
    may = {"preemption": {"restore_seconds": 0.0}}
    assert len(never_complete(case(job, reservations=away))) == 1
    assert never_complete(case(job, reservations=away, **may)) == ()
    assert len(never_complete(case(job | {"iterations": 5}, reservations=away, **may))) == 1


def reserved_for_ever(random: Random, features: list[str], jobs: int) -> Instance:
    """A wide instance of which perhaps parts are reserved for ever, and perhaps with a low cap."""
    while True:
        instance = random_wide(
            random, features, jobs=jobs, servers=random.randint(1, 3), stall=True
        )
        data = instance.model_dump(mode="json", exclude_unset=True, by_alias=True)
        held = data["cluster"].setdefault("reservations", [])
        for server in data["cluster"]["servers"]:
            if random.random() < 0.6:
                gpus = random.randint(1, server["gpus"])
                one = {"server": server["name"], "gpus": gpus, "from": random.randint(0, 6)}
                held.append(one)
        for tenant in data.get("tenants", []):
            if "gpus" in tenant:
                tenant["gpus"] = random.randint(1, 2)
        try:
            return parse_instance(data)
        except InputError:
            continue


SOME = [
    one.name
    for one in (
        RELEASES,
        DEPENDENCIES,
        SERVER_LISTS,
        SPREADS,
        RING_SIZES,
        GPU_TYPES,
        RUNNING_JOBS,
        RESERVATIONS,
        QUOTAS,
        DEADLINES,
    )
]


@examples(40)
@given(seed=st.integers(0, 2**32), jobs=st.integers(1, 2))
def test_whoever_is_named_completes_in_no_schedule(seed: int, jobs: int) -> None:
    random = Random(seed)
    features = [name for name in SOME if random.random() < 0.6]
    instance = reserved_for_ever(random, features, jobs)
    latest = min(horizon_of(instance), 24) if never_complete(instance) else horizon_of(instance)
    best = optimum(instance, min(latest, 24))
    if best is not None:
        assert too_short(instance) == ()
    elif jobs == 1 and latest <= 24:
        # One job alone, with nobody in its way: whatever keeps it out is told.
        assert too_short(instance) != ()


@examples(30)
@given(seed=st.integers(0, 2**32))
def test_whoever_is_named_completes_in_no_schedule_with_interruptions(seed: int) -> None:
    random = Random(seed)
    features = [PREEMPTION.name, *(name for name in SOME if random.random() < 0.5)]
    instance = reserved_for_ever(random, features, 1)
    best = preemptive_optima(instance, 14)
    if best is not None:
        assert too_short(instance) == ()


def test_many_spans_and_looks_only_make_it_say_less(monkeypatch: pytest.MonkeyPatch) -> None:
    away = [FOR_EVER | {"from": 2 * i, "to": 2 * i + 1} for i in range(200)]
    kept_out = case({"gpus": 4, "iterations": 500}, reservations=[*away, FOR_EVER | {"from": 400}])
    assert len(never_complete(kept_out)) == 1
    can = case({"gpus": 4, "iterations": 1}, reservations=[*away, FOR_EVER | {"from": 400}])
    assert never_complete(can) == ()
    monkeypatch.setattr(impossible, "MOST_LOOKS", 0)
    assert never_complete(can.model_copy(deep=True)) == ()


LAST = 2**53 - 1


@pytest.mark.parametrize(
    ("job", "top", "line"),
    [
        ({"release": LAST}, {}, f"jobs[0].release: {LAST}; with the 2 slots"),
        ({"due": LAST}, {}, f"jobs[0].due: {LAST}; with the 2 slots"),
        ({"deadline": LAST - 1}, {}, f"jobs[0].deadline: {LAST - 1}; with the 2 slots"),
        (
            {},
            {"reservations": [FOR_EVER | {"from": 3, "to": LAST}]},
            f"cluster.reservations[0].to: {LAST}; with the 2 slots",
        ),
        ({"iterations": LAST}, {"also": 1}, "jobs: one after another they take "),
    ],
)
def test_a_sum_of_slots_past_the_largest_number_is_one_line(
    job: dict[str, Any], top: dict[str, Any], line: str
) -> None:
    also = [job] * top.pop("also", 0) * 4
    with pytest.raises(InputError) as refused:
        case({"gpus": 1} | job, *({"gpus": 1} | one for one in also), **top)
    (told,) = refused.value.lines()
    assert told.startswith(line)
    assert told.endswith("slots must stay below 2^53")


def test_slots_up_to_the_largest_number_are_counted() -> None:
    assert horizon_of(case({"gpus": 1, "release": LAST - 2})) == LAST
