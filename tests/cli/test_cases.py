"""Small instances that showed faults: what each command says of them now."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from rarmodel import registry

if TYPE_CHECKING:
    from invocation import Invoke

CASES = Path(__file__).parent / "cases"
QUOTA = "job 'a' can never run: its ring of 4 GPUs is beyond the cap of {} GPUs of tenant 't' "
NEVER = {
    "never-fits-quota": [QUOTA.format(2) + "(tenants[0].gpus)"],
    "never-fits-after": [
        QUOTA.format(3) + "(tenants[0].gpus)",
        "job 'b' can never run: it waits for 'a', which never completes",
    ],
    "never-fits-reservation": [
        (
            "job 'a' can never run: its ring of 4 GPUs finds no room beside "
            "cluster.reservations[0] (1 GPU of 's1' from slot 0 on)"
        )
    ],
}


@pytest.mark.parametrize(
    "command",
    [
        ["solve", "--time-limit", "600"],
        ["solve", "--method", "fifo-backfill"],
        ["solve", "--formulation", "time-indexed", "--time-limit", "600"],
        ["solve", "--formulation", "rar-ddls", "--time-limit", "600"],
        ["compare", "--method", "search", "--formulation", "time-indexed", "--time-limit", "600"],
        ["simulate", "--policy", "replan"],
        ["simulate", "--policy", "las"],
    ],
    ids=lambda command: " ".join(command[:3]),
)
@pytest.mark.parametrize("case", NEVER)
def test_a_job_that_can_never_run_is_named_at_once(
    invoke: Invoke, case: str, command: list[str]
) -> None:
    begun = perf_counter()
    found = invoke(command[0], CASES / f"{case}.json", *command[1:])
    assert perf_counter() - begun < 120  # Nowhere near the limit, on a busy machine either.
    if command[0] != "compare":
        assert found.code == 1
    said = found.out + found.err
    assert all(line in said for line in NEVER[case])
    assert "horizon" not in said


@pytest.mark.parametrize("objective", registry.names("objectives"))
def test_it_is_named_whatever_the_objective(invoke: Invoke, objective: str) -> None:
    path = CASES / "never-fits-reservation.json"
    found = invoke("solve", path, "--objective", objective, "--time-limit", "600")
    assert found.code == 1
    assert NEVER["never-fits-reservation"][0] in found.err


@pytest.mark.parametrize("case", NEVER)
def test_a_description_says_that_no_number_of_slots_is_enough(invoke: Invoke, case: str) -> None:
    found = invoke("describe", CASES / f"{case}.json", "--json").json()
    assert found["infeasible"]
    assert found["reasons"] == NEVER[case]
    assert "no number of slots is enough" in invoke("describe", CASES / f"{case}.json").out


@pytest.mark.parametrize("policy", ["max-min", "makespan", "fairness", "cost"])
@pytest.mark.parametrize(
    ("case", "latest"), [("gavel-server-lists", 19), ("gavel-short-rounds", 700)]
)
def test_gavel_completes_every_job(invoke: Invoke, policy: str, case: str, latest: int) -> None:
    found = invoke("simulate", CASES / f"{case}.json", "--policy", f"gavel-{policy}", "--json")
    assert found.code == 0
    assert found.json()["makespan"] <= latest


@pytest.mark.parametrize("policy", ["fifo", "sjf", "srtf", "sjf-bco"])
def test_no_ring_is_put_where_it_makes_no_progress(invoke: Invoke, policy: str) -> None:
    path = CASES / "ring-without-progress.json"
    found = invoke("simulate", path, "--policy", policy, "--json")
    assert (found.code, found.json()["makespan"]) == (0, 39)


@pytest.mark.parametrize(
    "command",
    [
        *(["solve"], ["solve", "--formulation", "time-indexed"], ["compare"], ["describe"]),
        *(
            ["simulate", "--policy", "fifo"],
            ["audit"],
            ["formulate", "--formulation", "time-indexed", "--output", "no.lp"],
        ),
        ["verify", str(CASES / "never-fits-after.json")],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_slots_past_the_largest_number_are_one_line(invoke: Invoke, command: list[str]) -> None:
    first, *rest = command
    path = CASES / "release-past-2-53.json"
    found = invoke(first, path, *rest)
    assert found.code == 2
    assert found.err.splitlines()[-1].endswith(
        "jobs[0].release: 9007199254740991; with the 3 slots that the jobs take one after another, "
        "schedules may end at slot 9007199254740994, and slots must stay below 2^53"
    )


def test_policies_that_interrupt_say_once_that_an_instance_has_no_preemption(
    invoke: Invoke,
) -> None:
    path = CASES / "ring-without-progress.json"
    note = "interrupts jobs where the instance has preemption; this one has none, so running jobs "
    several = invoke("simulate", path, "--policy", "fifo,las,srtf")
    assert several.code == 0
    assert several.err.count(note) == 1
    assert f"las, srtf: {note}" in several.err
    one = invoke("simulate", path, "--policy", "las")
    assert (one.out + one.err).count(note) == 1
    assert note not in invoke("simulate", path, "--policy", "fifo").out
    (told,) = invoke("simulate", path, "--policy", "las", "--json").json()["notes"]
    assert told.startswith(note)
    with_it = CASES / "gavel-short-rounds.json"
    assert invoke("simulate", with_it, "--policy", "las", "--json").json()["notes"] == []
