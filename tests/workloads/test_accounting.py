"""Slurm's accounting in every form in which sites have it: the same jobs from each."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from traces import FIXTURES, imported, jobs_of, reasons, rows, seconds_of

import rarmodel
from rarmodel.errors import InputError
from rarmodel.workloads import Imported

GPUS = {"0": 4, "1": 1, "2": 1, "3": 16, "4": 1, "5": 4, "6": 1, "7": 2, "8": 4, "9": 8, "10": 1,
        "11": 1}  # fmt: skip
MINUTES = {"0": 112, "1": 213, "2": 263, "3": 387, "4": 1, "5": 377, "6": 18, "7": 400, "8": 78,
           "9": 2, "10": 2, "11": 152}  # fmt: skip
GPU_HOURS = 165.4
COMPONENT = "a component of a heterogeneous job, which counts with its first"


@pytest.mark.parametrize(
    "name", ["sacct_p.txt", "sacct_fixed.txt", "sacct_noelapsed.txt", "supercloud_slurm-log.csv"]
)
def test_every_form_gives_the_same_jobs(name: str) -> None:
    found = imported(FIXTURES / name)
    form = "supercloud" if name.startswith("supercloud") else "sacct"
    assert (found.account.format, found.account.rows, found.account.used) == (form, 12, 12)
    first = 1000 if form == "supercloud" else 0
    jobs = {str(int(name) - first): job for name, job in jobs_of(found.instance).items()}
    assert {name: job.size for name, job in jobs.items()} == GPUS
    assert [job.release for job in jobs.values()] == [
        0, 10, 64, 74, 76, 82, 95, 97, 104, 127, 139, 143
    ]  # fmt: skip
    minutes = [seconds / 60 for seconds in seconds_of(found.instance).values()]
    assert minutes == pytest.approx(list(MINUTES.values()))
    assert found.account.gpu_hours_recorded == pytest.approx(GPU_HOURS, abs=2e-3)


def test_requested_gpus_stand_in_for_those_allocated_with_a_note() -> None:
    notes = reasons(imported(FIXTURES / "sacct_p.txt").account.notes)
    assert notes["no GPUs allocated in the file; those of ReqTRES are used"] == 12


def test_supercloud_is_in_unix_time_and_has_types_and_users() -> None:
    instance, _ = imported(FIXTURES / "supercloud_slurm-log.csv", window="2017-10-09..2017-10-10")
    assert instance.time.origin == datetime.fromisoformat("2017-10-09T00:00:00+00:00")
    assert [tenant.name for tenant in instance.tenants] == ["u0", "u1", "u2", "u3"]


SUPERCLOUD = "id_job,gres_used,state,time_submit,time_start,time_end,tres_alloc"


def test_supercloud_rows_that_did_not_run_or_contradict_themselves(tmp_path: Path) -> None:
    text = rows(
        '1,gpu:volta:2,3,100,200,3800,"1=8,1001=2,1002=2"',
        "2,gpu:volta:2,0,100,0,0,1=8",
        "3,gpu:volta:2,1,100,200,0,1=8",
        "4,gpu:volta:2,5,100,200,0,1=8",
        '5,gpu:volta:2,3,100,200,3800,"1=8,1001=4,1002=4"',
        "6,,3,100,200,3800,1=8",
        "7,gpu:1g.10gb:2,3,100,200,3800,1=8",
        header=SUPERCLOUD,
    )
    found = imported(tmp_path / "t.csv", text)
    assert {name: job.size for name, job in jobs_of(found.instance).items()} == {"1": 2, "5": 4}
    assert reasons(found.account.left_out) == {
        "it never started": 1, "it was still running": 2, "no GPU": 1, "a part of a GPU": 1
    }  # fmt: skip
    note = "gres_used is not the GPUs of tres_alloc; those of tres_alloc are used"
    assert reasons(found.account.notes)[note] == 1


def test_slices_and_shards_of_gpus_are_left_out_and_arrays_read() -> None:
    found = imported(FIXTURES / "sacct_array.txt")
    assert {name: job.size for name, job in jobs_of(found.instance).items()} == {
        "79": 8, "77_0": 4, "77_1": 1, "77_2": 1, "77_3": 16
    }  # fmt: skip
    assert reasons(found.account.left_out) == {
        "a part of a GPU": 2, "it never started": 1, COMPONENT: 1
    }  # fmt: skip
    notes = reasons(found.account.notes)
    assert notes["2 components of a heterogeneous job are one job"] == 1
    # Two whole GPUs beside the shards; what two slices are of a GPU, Slurm does not say.
    assert found.account.gpu_hours_left_out == 2


@pytest.mark.parametrize(
    ("column", "text", "gpus"),
    [
        ("AllocTRES", "gres/gpu=2", 2),
        ("AllocTRES", "gres/gpu=2,gres/gpu:nvidia_a100-sxm4-80gb=2", 2),
        ("AllocTRES", "gres/gpu=2,gres/shard=0", 2),
        ("AllocTRES", "gres/gpu=2,gres/gpu:a100_1g.5gb=2", 0),
        ("AllocTRES", "gres/gpu:3g.20gb=1", 0),
        ("AllocTRES", "gres/shard=4", 0),
        ("AllocTRES", "gres/shard:a100=4", 0),
        ("AllocTRES", "gres/mps=50", 0),
        ("AllocGRES", "gpu:a100:2", 2),
        ("AllocGRES", "gpu:1g.10gb:2", 0),
        ("AllocGRES", "gpu:1g.10gb", 0),
        ("AllocGRES", "gpu:a100_3g.20gb:1(S:0)", 0),
        ("AllocGRES", "gpu:1,shard:2", 0),
        ("AllocGRES", "mps", 0),
    ],
)
def test_parts_of_gpus_never_count_as_whole_ones(
    tmp_path: Path, column: str, text: str, gpus: int
) -> None:
    table = f"JobID|State|ElapsedRaw|{column}\n1|COMPLETED|60|{text}\n2|COMPLETED|60|"
    table += "gpu:1\n" if column == "AllocGRES" else "gres/gpu=1\n"
    found = imported(tmp_path / "t.txt", table)
    sizes = {name: job.size for name, job in jobs_of(found.instance).items()}
    assert sizes == ({"1": gpus, "2": 1} if gpus else {"2": 1})
    assert reasons(found.account.left_out) == ({} if gpus else {"a part of a GPU": 1})


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("JobID|State|AllocTRES", "'ElapsedRaw' or 'Elapsed' or 'Start and End'"),
        ("JobID|State|End|AllocTRES", "'ElapsedRaw' or 'Elapsed' or 'Start and End'"),
        ("JobIDRaw|State|ElapsedRaw", "'AllocTRES' or 'AllocGRES' or 'ReqTRES'"),
        ("State|ElapsedRaw|AllocTRES", "'JobID' or 'JobIDRaw'"),
    ],
)
def test_missing_column_names_the_option_of_sacct(
    tmp_path: Path, header: str, missing: str
) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path / "t.txt", f"{header}\n{'|'.join('x' for _ in header.split('|'))}\n")
    (line,) = caught.value.lines()
    assert line.removeprefix(f"{tmp_path / 't.txt'}: ") == (
        f"line 1: column {missing} is missing; run sacct --parsable2 with --format "
        "JobID,State,Account,Partition,Submit,Start,ElapsedRaw,ReqTRES,AllocTRES"
    )


def test_elapsed_that_is_not_end_minus_start_is_used_and_noted(tmp_path: Path) -> None:
    text = (
        "JobID|State|Start|End|Elapsed|AllocTRES\n"
        # Suspended for half an hour.
        "1|COMPLETED|2024-05-01T10:00:00|2024-05-01T12:00:00|01:30:00|gres/gpu=1\n"
        "2|COMPLETED|2024-05-01T10:00:00|2024-05-01T12:00:00|02:00:00|gres/gpu=1\n"
        "3|COMPLETED|2024-05-01T10:00:00|Unknown|02:00:00|gres/gpu=1\n"
        "4|COMPLETED|2024-05-01T10:00:00|2024-05-01T12:00:00||gres/gpu=1\n"
    )
    found = imported(tmp_path / "t.txt", text)
    assert seconds_of(found.instance) == {"1": 5400, "2": 7200, "3": 7200, "4": 7200}
    assert reasons(found.account.notes)["Elapsed is not End − Start; Elapsed is used"] == 1


def test_unix_times_of_sacct_are_dates(tmp_path: Path) -> None:
    text = (
        "JobID|Submit|Start|End|AllocTRES\n"
        "1|1507532563|1507532798|1507539544|gres/gpu=1\n"
        "2|1507619000|1507619000|1507619060|gres/gpu=1\n"
    )
    found = imported(tmp_path / "t.txt", text, window="2017-10-09..2017-10-10")
    assert [job.name for job in found.instance.jobs] == ["1"]


FIXED = (FIXTURES / "sacct_fixed.txt").read_text(encoding="utf-8").splitlines()


def fixed(*lines: str) -> str:
    return "\n".join([*FIXED[:2], *lines]) + "\n"


def test_resources_that_sacct_cut_short_are_refused(tmp_path: Path) -> None:
    whole, cut = "      billing=8,cpu=8,gres/gpu=4", "billing=8,cpu=8,mem=10G,node=1+"
    row = FIXED[2].replace(whole, cut.rjust(len(whole)))
    with pytest.raises(InputError) as caught:
        imported(tmp_path / "t.txt", fixed(row))
    (line,) = caught.value.lines()
    assert line.endswith(
        "cut short by sacct; --parsable2 writes it whole, and so does AllocTRES%200"
    )


def test_names_that_sacct_cut_short_are_noted(tmp_path: Path) -> None:
    row = FIXED[2].replace("       gpu", "gpu-hoppe+")
    found = imported(tmp_path / "t.txt", fixed(row))
    note = "Partition: cut short by sacct; --parsable2 writes it whole"
    assert reasons(found.account.notes)[note] == 1


def test_text_between_columns_of_fixed_width_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 4: cells that are not below their names; sacct --p"):
        imported(tmp_path / "t.txt", fixed(FIXED[2], "x" + FIXED[3]))


def test_short_rows_of_fixed_width_have_empty_cells(tmp_path: Path) -> None:
    found = imported(tmp_path / "t.txt", fixed(FIXED[2], "13"))
    assert reasons(found.account.left_out) == {"no GPU": 1}


def job(number: int, **changes: Any) -> dict[str, Any]:
    """A job as newer versions of `sacct --json` write it."""
    return {
        "job_id": number,
        "name": "x",
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
        "association": {"account": "physics", "cluster": "c", "partition": None, "user": "ann"},
        "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
        "partition": "gpu",
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "steps": [],
        "time": {"submission": 1714557600, "start": 1714557660, "end": 1714561260, "elapsed": 3600},
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "id": 1, "count": 64},
                {"type": "gres", "name": "gpu", "id": 1001, "count": 4},
                {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 4},
            ],
            "requested": [{"type": "gres", "name": "gpu", "id": 1001, "count": 4}],
        },
        **changes,
    }


def resources(name: str, count: int) -> dict[str, Any]:
    return {"allocated": [{"type": "gres", "name": name, "id": 1003, "count": count}]}


def test_json_of_sacct_is_read() -> None:
    found = imported(FIXTURES / "sacct.json", slot_seconds=1.0)
    assert (found.account.format, found.account.rows) == ("sacct-json", 1)
    assert {name: job.size for name, job in jobs_of(found.instance).items()} == {"1": 4}
    assert seconds_of(found.instance) == {"1": 1}


def test_json_of_newer_versions_has_accounts_states_arrays_and_numbers(tmp_path: Path) -> None:
    times = job(0)["time"]
    jobs = [
        job(1),
        job(2, array={"job_id": 90, "task_id": {"set": True, "infinite": False, "number": 7}}),
        job(3, het={"job_id": 80, "job_offset": {"set": True, "infinite": False, "number": 1}}),
        job(4, state={"current": ["RUNNING"]}),
        job(5, state={"current": "PENDING"}, time={**times, "start": 0, "end": 0, "elapsed": 0}),
        job(6, tres=resources("gpu:1g.10gb", 2)),
        job(7, tres=resources("gpu", 2), time={**times, "elapsed": None}),
        job(
            8, time={**times, "submission": {"set": True, "infinite": False, "number": 1714557720}}
        ),
    ]
    found = imported(tmp_path / "jobs.json", json.dumps({"jobs": jobs, "meta": {}}))
    by_name = jobs_of(found.instance)
    assert {name: job.size for name, job in by_name.items()} == {
        "1": 4, "90_7": 4, "80+1": 4, "7": 2, "8": 4
    }  # fmt: skip
    assert by_name["8"].release == 2
    assert by_name["1"].tenant == "physics"
    assert found.instance.time.origin == datetime.fromisoformat("2024-05-01T10:00:00+00:00")
    assert reasons(found.account.left_out) == {
        "it was still running": 1, "it never started": 1, "a part of a GPU": 1
    }  # fmt: skip
    assert set(seconds_of(found.instance).values()) == {3600}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tres": 5}, "no job is left of 1 row: 1 row: no GPU"),
        ({"tres": {"allocated": [5]}}, r"entry 1, field 'tres.allocated': '\[5\]'; a list of reso"),
        ({"tres": {"allocated": "x"}}, "field 'tres.allocated': 'x'; a list of resources is expe"),
        ({"tres": resources("gpu", -2)}, "field 'tres.allocated': 'gres/gpu=-2'; a number of GPUs"),
        ({"time": {"elapsed": "long"}}, "field 'time.elapsed': 'long'; a number is expected"),
    ],
)
def test_json_that_is_odd_is_refused_in_words(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        imported(tmp_path / "jobs.json", json.dumps({"jobs": [job(1, **changes)]}))


def test_json_of_other_commands_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    squeue = {"jobs": [{"job_id": 1, "submit_time": {"number": 5}}]}
    with pytest.raises(
        InputError, match="format sacct-json is a list 'jobs' of objects with job_i"
    ):
        imported(tmp_path / "jobs.json", json.dumps(squeue))


def test_json_of_one_long_line_is_no_table_with_a_long_line(tmp_path: Path) -> None:
    entry = job(1, name="x" * (17 << 20))
    assert imported(tmp_path / "jobs.json", json.dumps({"jobs": [entry]})).account.used == 1


# Licences

LICENSED = """JobID|State|Submit|Start|ElapsedRaw|Licenses|AllocTRES
1|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|matlab:2,ansys|gres/gpu=2
2|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:30:00|3600|matlab*1|gres/gpu=2
3|COMPLETED|2024-05-01T10:00:00|2024-05-01T11:00:00|3600|ansys:2|gres/gpu=2
4|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:40:00|600|matlab|cpu=1
5|PENDING|2024-05-01T10:00:00|Unknown|0|matlab:9|gres/gpu=2
"""


def licensed(tmp_path: Path, text: str, conf: str | None = None, **choices: Any) -> Imported:
    """An import of jobs with licences, of some servers or of a `slurm.conf`."""
    jobs = tmp_path / "jobs.txt"
    jobs.write_text(text, encoding="utf-8")
    if conf is None:
        return rarmodel.import_trace(jobs, servers=2, gpus_per_server=4, **choices)
    path = tmp_path / "slurm.conf"
    path.write_text(f"NodeName=n[1-2] Gres=gpu:4\n{conf}\n", encoding="utf-8")
    return rarmodel.import_trace(jobs, slurm_conf=path, **choices)


def resources_of(found: Imported) -> dict[str, object]:
    return {one.name: one.capacity for one in found.instance.resources}


SHARDS = """\
JobID|Partition|State|Submit|Start|ElapsedRaw|AllocTRES
1|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|cpu=1,node=1,gres/shard=1
2|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|cpu=2,node=2,gres/shard=6
3|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|node=1,gres/shard=2,gres/shard:a100=2
4|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|node=1,gres/shard=5
5|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|node=2,gres/shard=3
6|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|gres/shard=1
7|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|node=1,gres/shard=1,gres/mps=10
8|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|node=1,gres/gpu=1,gres/shard=1
9|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|node=1,gres/gpu=2
10+1|p|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:00:00|3600|node=1,gres/shard=1
"""


def test_shards_are_slices_of_nodes_that_have_them(tmp_path: Path) -> None:
    shards = "NodeName=s[1-2] Gres=gpu:2,shard:8\nNodeName=u Gres=gpu:2,shard:7"
    found = licensed(tmp_path, SHARDS, shards)
    jobs = {job.name: (job.gpus, job.slices, job.servers) for job in found.instance.jobs}
    servers = ("s1", "s2")
    assert jobs == {
        "1": (1, 1, servers), "2": (2, 3, servers), "3": (1, 2, servers), "9": (2, None, None)
    }  # fmt: skip
    assert {job.sensitivity for job in found.instance.jobs if job.slices} == {0}
    assert reasons(found.account.left_out) == {"a part of a GPU": 6}
    # A quarter, twice three quarters, a half, and two GPUs for an hour.
    assert found.account.gpu_hours_recorded == found.account.gpu_hours == 4.25
    assert reasons(licensed(tmp_path, SHARDS).account.left_out) == {"a part of a GPU": 9}


def test_licences_of_a_trace_are_as_many_as_jobs_held_at_once(tmp_path: Path) -> None:
    found = licensed(tmp_path, LICENSED)
    # Jobs 1, 2 and 4, which has no GPUs, hold 2 + 1 + 1; job 3 begins as job 1 ends.
    assert resources_of(found) == {"ansys": 2, "matlab": 4}
    uses = {job.name: job.resources for job in found.instance.jobs}
    assert uses == {"1": {"ansys": 1, "matlab": 2}, "2": {"matlab": 1}, "3": {"ansys": 2}}
    line = "kept: licences as resources: 'ansys' (2 held at once), 'matlab' (4 held at once)"
    assert line in found.account.lines()


def test_licences_of_a_trace_are_as_many_as_slurm_conf_has(tmp_path: Path) -> None:
    conf = "Licenses=matlab:1,other:3\nLicenses=matlab:1\n"
    found = licensed(tmp_path, LICENSED, conf)
    assert resources_of(found) == {"ansys": 2, "matlab": 1}
    why = "it asks for 2 of licence 'matlab'; there are 1 of slurm.conf"
    assert reasons(found.account.left_out)[why] == 1
    assert [job.name for job in found.instance.jobs] == ["2", "3"]


def test_licences_are_among_trackable_resources_too(tmp_path: Path) -> None:
    text = (
        "JobID|State|Start|ElapsedRaw|AllocTRES\n"
        "1|COMPLETED|2024-05-01T10:00:00|60|cpu=8,gres/gpu=2,license/iop1=3,license/none=0\n"
    )
    found = licensed(tmp_path, text)
    assert resources_of(found) == {"iop1": 3}
    entry = {
        "job_id": 7,
        "licenses": "matlab@server:2",
        "state": {"current": ["COMPLETED"]},
        "time": {"submission": 1000, "start": 1000, "elapsed": 60},
        "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 2}]},
    }
    found = imported(tmp_path / "jobs.json", json.dumps({"jobs": [entry]}))
    assert resources_of(found) == {"matlab@server": 2}


@pytest.mark.parametrize(
    ("start", "licences", "why"),
    [
        ("Unknown", "matlab", "licence 'matlab' of 1 job: nothing says how many there are"),
        ("2024-05-01T10:00:00", "a|b", "licence 'a|b' of 1 job: the trace does not say which"),
    ],
)
def test_licences_that_are_not_kept_are_told(
    tmp_path: Path, start: str, licences: str, why: str
) -> None:
    text = "JobID,State,Start,ElapsedRaw,Licenses,AllocTRES\n"
    text += f"1,COMPLETED,{start},60,{licences},gres/gpu=2\n"
    found = licensed(tmp_path, text)
    assert found.instance.resources == ()
    assert f"not kept: {why}" in found.account.lines()


def test_licences_that_sacct_cut_short_are_noted(tmp_path: Path) -> None:
    text = "JobID|State|Start|ElapsedRaw|Licenses|AllocTRES\n"
    text += "1|COMPLETED|2024-05-01T10:00:00|60|matlab:12+|gres/gpu=2\n"
    found = licensed(tmp_path, text)
    assert found.instance.resources == ()
    assert "Licenses: cut short by sacct; --parsable2 writes it whole" in reasons(
        found.account.notes
    )


HET = "JobID|Partition|State|Submit|Start|ElapsedRaw|ReqTRES|AllocTRES|Licenses\n"
TIMES = "2024-05-01T10:00:00|2024-05-01T10:00:00"


def test_components_of_a_heterogeneous_job_are_one_job_of_all_their_gpus(tmp_path: Path) -> None:
    text = (
        f"{HET}"
        f"7+0|cpu|COMPLETED|{TIMES}|3600||cpu=64|matlab:1\n"
        f"7+0.batch|cpu|COMPLETED|{TIMES}|3600||cpu=64|\n"
        f"7+1|gpu|COMPLETED|{TIMES}|3600|gres/gpu:a100=4|gres/gpu:a100=4|matlab:2\n"
        f"7+2|gpu|COMPLETED|{TIMES}|1800|gres/gpu:v100=4|gres/gpu:v100=4|\n"
        f"8|gpu|COMPLETED|{TIMES}|600|gres/gpu=1|gres/gpu=1|\n"
        f"9+0|gpu|PENDING|{TIMES}|0|gres/gpu=1||\n"
        f"9+1|gpu|PENDING|{TIMES}|0|gres/gpu=1||\n"
        f"10+0|gpu|COMPLETED|{TIMES}|600|gres/gpu=1|gres/gpu=1|\n"
        f"10+1|gpu|COMPLETED|{TIMES}|600|gres/shard=2|gres/shard=2|\n"
    )
    found = imported(tmp_path / "t.txt", text)
    by_name = jobs_of(found.instance)
    assert {name: job.size for name, job in by_name.items()} == {"7": 8, "8": 1}
    # 4 GPUs for an hour and 4 for half an hour: 6 GPU hours on 8.
    assert seconds_of(found.instance) == {"7": 2700, "8": 600}
    assert by_name["7"].resources == {"matlab": 3}
    assert reasons(found.account.left_out) == {
        "a step of a job, which has a row of its own": 1,
        COMPONENT: 4,
        "it never started": 1,
        "a part of a GPU": 1,
    }
    notes = reasons(found.account.notes)
    assert notes["3 components of a heterogeneous job are one job"] == 1
    assert notes["components of different durations; their mean by GPUs is used"] == 1
    assert notes["components on different types of GPU; it may use any of these"] == 1
    assert found.account.gpu_hours_recorded == pytest.approx(6 + 1 / 6)
    assert found.account.gpu_hours_left_out == pytest.approx(1 / 6)


def test_one_component_alone_or_twice_is_no_wider_job(tmp_path: Path) -> None:
    row = f"7+1|gpu|COMPLETED|{TIMES}|600|gres/gpu=2|gres/gpu=2|\n"
    found = imported(tmp_path / "t.txt", f"{HET}{row}{row}")
    assert {name: job.size for name, job in jobs_of(found.instance).items()} == {"7+1": 2}
    assert reasons(found.account.left_out) == {"a copy of an earlier row": 1}


def test_components_in_json_are_one_job(tmp_path: Path) -> None:
    parts = [job(k, het={"job_id": 80, "job_offset": k - 1}) for k in (1, 2)]
    found = imported(tmp_path / "jobs.json", json.dumps({"jobs": parts}))
    assert {name: one.size for name, one in jobs_of(found.instance).items()} == {"80": 8}


@pytest.mark.parametrize("cell", ["billing=8,cpu=8,gres/gpu=4,mem=10G,node=1", "cpu=8,node=1"])
def test_rows_of_sacct_without_names_say_which_option_to_leave_out(
    tmp_path: Path, cell: str
) -> None:
    with pytest.raises(InputError, match=r"line 1: a row of sacct without .* without --noheader"):
        imported(tmp_path / "t.txt", f"1|COMPLETED|2024-05-01T10:00:00|600|{cell}\n")


def test_what_sacct_prints_by_default_lacks_columns_that_one_line_names(tmp_path: Path) -> None:
    names = ["JobID", "JobName", "Partition", "Account", "AllocCPUS", "State", "ExitCode"]
    for separator in ("|", " "):
        text = separator.join(names) + "\n"
        if separator == " ":
            text = " ".join(name.rjust(10) for name in names) + "\n" + " ".join(["-" * 10] * 7)
        with pytest.raises(InputError) as refused:
            imported(tmp_path / "t.txt", text)
        (problem,) = refused.value.problems
        assert problem.message == (
            "columns 'AllocTRES' or 'AllocGRES' or 'ReqTRES', and 'ElapsedRaw' or 'Elapsed' or "
            "'Start and End' are missing; run sacct --parsable2 with --format JobID,State,Account,"
            "Partition,Submit,Start,ElapsedRaw,ReqTRES,AllocTRES"
        )
