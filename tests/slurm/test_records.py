"""Reading of Slurm's text, in which users choose some of the values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.slurm.records import lines
from rarmodel.slurm.slurm_values import gpus_in, indices, memory_mb, moment, seconds

NEEDED = ("UserId", "JobState")


def job(name: str, number: int = 1, comment: str = "c", account: str = "q") -> str:
    return (
        f"JobId={number} JobName={name} UserId=a(1) Account={account} JobState=PENDING Priority=0 "
        f"NumNodes=1 Nodes=n1 GRES=gpu:1(IDX:0) MinCPUsNode=1 Command=/c Comment={comment}\n"
    )


def test_values_with_blanks_and_unknown_keys_stay_whole() -> None:
    (line,) = lines(job('a b {"x=y": 1} z=2'), "JobId", NEEDED)
    assert line.values["JobName"] == 'a b {"x=y": 1} z=2'
    assert line.values["UserId"] == "a(1)"


def test_a_name_that_repeats_a_key_makes_the_record_untrusted() -> None:
    (line,) = lines(job("x UserId=root(0)"), "JobId", NEEDED)
    assert line.name == "1"
    assert not line.values


def test_a_name_with_a_line_break_forges_no_job() -> None:
    forged = "x\nJobId=7 JobName=y"
    assert not any(line.values for line in lines(job(forged) + job("z", 7), "JobId", NEEDED))


@pytest.mark.parametrize(
    "forged",
    [
        job("x ArrayJobId=7 ArrayTaskId=0"),
        job("x", comment="c HetJobId=7"),
        job("x", comment="c Nodes=n[1-8] GRES=gpu:8(IDX:0-7)"),
        job("x", account="q Nodes=n2"),
        job("x Priority=1"),
    ],
)
def test_no_text_makes_a_job_another_one_or_hold_what_it_does_not(forged: str) -> None:
    (line,) = lines(forged, "JobId", NEEDED)
    assert not line.values


@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=60))
def test_no_name_changes_what_other_jobs_or_trusted_keys_say(name: str) -> None:
    found = {line.name: line.values for line in lines(job(name) + job("z", 2), "JobId", NEEDED)}
    assert found["2"] in ({}, {**found["2"], "UserId": "a(1)", "JobName": "z"})
    assert not found["1"] or found["1"]["UserId"] == "a(1)"


def test_values_are_read_as_slurm_writes_them() -> None:
    assert indices("gpu:h100:3(IDX:0-1,5),nic:2(IDX:7)") == [0, 1, 5]
    assert gpus_in("gres:gpu:h100:4") == gpus_in("gres/gpu:h100=4") == {"h100": 4}
    assert gpus_in("gres:gpu:4") == gpus_in("gres/gpu=4") == {"": 4}
    assert (memory_mb("1.5G"), memory_mb("100M"), memory_mb("0")) == (1536, 100, 0)
    assert seconds("2-03:00:01") == 2 * 86_400 + 3 * 3600 + 1
    assert seconds("UNLIMITED") is None
    assert moment("Unknown") is None
