"""Published traces whose layout misleads: headers, percent, parts of GPUs, JSON, contradictions."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from traces import FIXTURES, imported, jobs_of, reasons, rows, seconds_of

import rarmodel
from rarmodel.errors import InputError, UsageError
from rarmodel.workloads import Account

PAI = FIXTURES / "pai_task_table.csv"
PAI_HEADER = (
    "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"
)
OPENB = FIXTURES / "openb_pod_list.csv"
PHILLY = FIXTURES / "cluster_job_log.json"
SWF = FIXTURES / "parallel.swf"
KALOS = FIXTURES / "acme-kalos.csv"


def hours_of_file(account: Account) -> float:
    return account.gpu_hours_recorded + account.gpu_hours_left_out


@pytest.mark.parametrize("header", [False, True])
def test_pai_is_read_with_and_without_names_of_columns(tmp_path: Path, *, header: bool) -> None:
    text = PAI.read_text(encoding="utf-8")
    found = imported(tmp_path / "pai.csv", f"{PAI_HEADER}\n{text}" if header else text)
    assert (found.account.format, found.account.rows) == ("pai", 13)
    # Percent of a GPU for each instance: 200.0 and 1 are two GPUs, 100.0 and 4 are four.
    assert {name: job.size for name, job in jobs_of(found.instance).items()} == {
        "job1": 1, "job2": 2, "job5": 4, "job6": 1, "job8": 4, "job11": 2
    }  # fmt: skip
    assert reasons(found.account.left_out) == {"a part of a GPU": 6, "no GPU": 1}
    # Each GPU of 25 % counts as a quarter in the hours of the file.
    spans = {"job0": (2.0, 6746.1), "job3": (4.0, 23211.0), "job4": (0.25, 57.1)}
    spans |= {"job7": (1.0, 24025.8), "job9": (2.0, 107.1), "job10": (0.25, 94.2)}
    hours = sum(gpus * seconds for gpus, seconds in spans.values()) / 3600
    assert found.account.gpu_hours_left_out == pytest.approx(hours)
    assert found.account.gpu_hours_recorded == pytest.approx(
        (12802.0 + 2 * 15778.1 + 4 * 22625.2 + 1091.0 + 4 * 4684.1 + 2 * 9112.0) / 3600
    )


def test_pai_tasks_that_wait_or_run_are_no_jobs(tmp_path: Path) -> None:
    lines = ["a,worker,1,Running,0,,600,29,100.0,T4", "b,worker,1,Waiting,,,600,29,100.0,T4"]
    text = rows(*lines, "c,worker,1,Failed,0,60,600,29,100.0,T4", header=PAI_HEADER)
    assert reasons(imported(tmp_path / "t.csv", text).account.left_out) == {
        "it was still running": 1,
        "it never started": 1,
    }


def test_ten_columns_of_text_are_neither_gavel_nor_pai(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the formats rarmodel, philly"):
        imported(tmp_path / "t.csv", "a,b,c,d,e,f,g,h,i,j\n")


@pytest.mark.parametrize(
    ("name", "header", "column", "reason"),
    [
        ("pai", PAI_HEADER, "plan_gpu", "in percent of a GPU, for each of inst_num instances"),
        ("openb", "", "num_gpu", "gpu_milli says which part of each GPU it is"),
        ("openb", "", "gpu_milli", "in thousandths, for each of num_gpu GPUs"),
    ],
)
def test_column_that_does_not_count_whole_gpus_cannot_be_mapped(
    tmp_path: Path, name: str, header: str, column: str, reason: str
) -> None:
    source = {"pai": PAI, "openb": OPENB}[name].read_text(encoding="utf-8")
    text = f"{header}\n{source}" if header else source
    with pytest.raises(InputError, match=f"line 1: column '{column}' does not give.*{reason}"):
        imported(tmp_path / "t.csv", text, columns={"gpus": column})


def test_openb_has_parts_of_gpus_types_and_waits() -> None:
    found = imported(OPENB)
    assert (found.account.format, found.account.rows) == ("openb", 12)
    assert {name: job.size for name, job in jobs_of(found.instance).items()} == {
        "openb-pod-0001": 1, "openb-pod-0003": 8, "openb-pod-0005": 1,
        "openb-pod-0007": 1, "openb-pod-0009": 8, "openb-pod-0011": 1,
    }  # fmt: skip
    assert reasons(found.account.left_out) == {"a part of a GPU": 6}
    # 0.46 of each GPU, from the start and not from the creation to the deletion.
    parts = 8 * 6746 + 15778 + 57 + 8 * 1091 + 4685 + 94
    assert found.account.gpu_hours_left_out == pytest.approx(0.46 * parts / 3600)
    assert seconds_of(found.instance)["openb-pod-0001"] == 12780  # 12,802 s in minutes
    assert jobs_of(found.instance)["openb-pod-0001"].release == 0


@pytest.mark.parametrize(("gpu_slices", "slices"), [(2, 1), (8, 4), (10, 5), (50, 23), (64, 30)])
def test_openb_parts_become_slices_that_are_never_less(gpu_slices: int, slices: int) -> None:
    found = imported(OPENB, gpu_slices=gpu_slices)
    assert found.account.left_out == ()
    jobs = jobs_of(found.instance)
    assert (jobs["openb-pod-0000"].size, jobs["openb-pod-0002"].size) == (8, 1)
    assert jobs["openb-pod-0002"].slices == slices
    assert {job.slices for job in jobs.values()} == {slices, None}
    assert {job.sensitivity for job in jobs.values() if job.slices} == {0}
    assert slices - 1 < 0.46 * gpu_slices <= slices
    # The hours of the file are those of its fractions, and those of the instance of its slices.
    held = sum(
        jobs[name].size * (jobs[name].slices or gpu_slices) / gpu_slices * seconds
        for name, seconds in seconds_of(found.instance).items()
    )
    assert found.account.gpu_hours == pytest.approx(held / 3600)
    assert hours_of_file(found.account) == pytest.approx(hours_of_file(imported(OPENB).account))


def test_pai_instances_on_quarters_are_workers_with_slices(tmp_path: Path) -> None:
    lines = ["a,worker,4,Failed,0,60,600,29,25.0,T4", "b,worker,1,Failed,0,60,600,29,150.0,T4"]
    text = rows(*lines, "c,worker,40,Failed,0,60,600,29,25.0,T4", header=PAI_HEADER)
    found = imported(tmp_path / "t.csv", text, gpu_slices=8)
    assert [(job.size, job.slices) for job in found.instance.jobs] == [(4, 2)]
    assert reasons(found.account.left_out) == {
        "a part of a GPU": 1,  # Nobody says of which GPU the half is.
        "more GPUs than the cluster's 32": 1,  # No two workers share one.
    }


def test_parts_are_left_out_where_servers_divide_their_gpus_differently(tmp_path: Path) -> None:
    servers = [{"name": "a", "gpus": 8, "gpu_slices": 2}, {"name": "b", "gpus": 8}]
    cluster = {
        "servers": servers,
        "network": {"kind": "star", "gbps": 25.0},
        "intra_server_gbps": 100.0,
        "reduction_gbps": 100.0,
    }
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(cluster))
    assert reasons(rarmodel.import_trace(OPENB, cluster=path).account.left_out) == {
        "a part of a GPU": 6
    }
    with pytest.raises(UsageError, match="gpu slices: the cluster says itself"):
        rarmodel.import_trace(OPENB, cluster=path, gpu_slices=8)
    cluster["servers"] = [{"name": "a", "gpus": 8, "gpu_slices": 2}]
    path.write_text(json.dumps(cluster))
    assert rarmodel.import_trace(OPENB, cluster=path).account.left_out == ()


def test_whole_gpus_are_imported_alike_beside_slices() -> None:
    known = jobs_of(imported(OPENB, arrivals="zero").instance)
    found = jobs_of(imported(OPENB, arrivals="zero", gpu_slices=8).instance)
    assert {name: found[name] for name in known} == known


def test_openb_pods_without_start_never_ran_and_running_ones_did(tmp_path: Path) -> None:
    header = OPENB.read_text(encoding="utf-8").splitlines()[0]
    text = rows(
        "p,1,1,1,1000,,BE,Pending,5,60,",
        "r,1,1,1,1000,,LS,Running,0,600,60",
        "c,1,1,0,0,,LS,Running,0,600,60",
        header=header,
    )
    found = imported(tmp_path / "t.csv", text)
    assert list(jobs_of(found.instance)) == ["r"]
    assert reasons(found.account.left_out) == {"it never started": 1, "no GPU": 1}


def test_halves_of_several_workers_are_not_whole_gpus(tmp_path: Path) -> None:
    header = (
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,"
        "duration,job_type"
    )
    text = rows("a,o,A100,8,0.5,2,100,3600,HP", "b,o,A100,8,2,2,100,3600,HP", header=header)
    found = imported(tmp_path / "t.csv", text)
    assert {name: job.size for name, job in jobs_of(found.instance).items()} == {"b": 4}
    assert reasons(found.account.left_out) == {"a part of a GPU": 1}
    assert found.account.gpu_hours_left_out == 1


def test_philly_json_has_virtual_clusters_gpus_and_attempts() -> None:
    found = imported(PHILLY)
    assert (found.account.format, found.account.rows, found.account.used) == ("philly-json", 12, 12)
    assert "CC-BY-4.0" in (found.instance.description or "")
    jobs = jobs_of(found.instance)
    job = jobs["application_1506638472019_3"]
    assert (job.size, job.tenant) == (16, "ee9e8c")
    # 07:02:43 to 08:16:27.
    assert job.release == 74
    assert seconds_of(found.instance)["application_1506638472019_0"] == 6720  # 6,745 s in minutes


def entry(*attempts: tuple[Any, Any, int], job: str = "j") -> dict[str, Any]:
    """A job of Philly's JSON, of attempts from, to and on so many GPUs."""
    return {
        "status": "Pass",
        "vc": "v",
        "jobid": job,
        "attempts": [
            {
                "start_time": start,
                "end_time": end,
                "detail": [{"ip": "m1", "gpus": [f"gpu{k}" for k in range(gpus)]}],
            }
            for start, end, gpus in attempts
        ],
        "submitted_time": "2017-10-09 07:00:00",
        "user": "u",
    }


def day(time: str) -> str:
    return f"2017-10-09 {time}:00"


def test_attempts_of_philly_keep_their_gpu_hours(tmp_path: Path) -> None:
    entries = [
        entry((day("08:00"), day("09:00"), 4), (day("10:00"), day("10:30"), 4), job="twice"),
        entry((day("08:00"), day("09:00"), 4), (day("10:00"), day("11:00"), 8), job="wider"),
        entry((None, "None", 4), (day("10:00"), day("11:00"), 4), job="lost"),
        entry((day("08:00"), None, 4), job="running"),
        entry(job="never"),
    ]
    found = imported(tmp_path / "log.json", json.dumps(entries))
    assert {name: job.size for name, job in jobs_of(found.instance).items()} == {
        "twice": 4, "wider": 8, "lost": 4
    }  # fmt: skip
    assert seconds_of(found.instance) == {"twice": 5400, "wider": 5400, "lost": 3600}
    notes = reasons(found.account.notes)
    assert notes["attempts on different numbers of GPUs; those of the last, with all GPU hours"]
    assert notes["an attempt without start or end; its time is not counted"] == 1
    assert reasons(found.account.left_out) == {"it was still running": 1, "it never started": 1}
    assert "left out: 1 row: it never started (entry 5)" in found.account.lines()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"jobs": [', r"not JSON: Expecting value \(line 1, column 11\)"),
        ('{"schema_version": 1, "jobs": [{"name": "a"}]}', "JSON with fields 'schema_version', 'j"),
        ('[{"a": 1}]', "JSON with fields 'a': no known format; format philly-json is a list of"),
        ("[1]", "JSON: no known format"),
        ("[]", "no rows below the names of columns"),
        (json.dumps([entry(), 5]), "entry 2: not an object; a job is expected"),
        (json.dumps([entry(), {"jobid": 1}]), "entry 2, field 'attempts': missing"),
        (json.dumps([entry() | {"attempts": 3}]), "entry 1, field 'attempts': '3'; a list is exp"),
        (json.dumps([entry() | {"attempts": [3]}]), r"field 'attempts\[0\].detail': '3'; servers"),
        (json.dumps([entry(("x", None, 1))]), r"field 'attempts\[0\].start_time': 'x'; a date"),
        (json.dumps([entry((day("09:00"), day("08:00"), 1))]), "must not be before the start"),
    ],
)
def test_other_json_is_refused_in_words(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(tmp_path / "t.json", content)


def test_format_that_is_a_table_does_not_fit_json_nor_the_reverse(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="JSON, and format sacct is a table; formats of JSON are"):
        imported(PHILLY, form="sacct")
    with pytest.raises(InputError, match="a table; format philly-json is JSON"):
        imported(PAI, form="philly-json")
    with pytest.raises(InputError, match="format sacct-json is a list 'jobs' of objects"):
        imported(PHILLY, form="sacct-json")


def test_duration_that_contains_the_queue_is_noticed_and_end_minus_start_used() -> None:
    found = rarmodel.import_trace(KALOS, slot_seconds=1.0, servers=8, gpus_per_server=8)
    assert seconds_of(found.instance) == {"job-a": 8, "job-b": 70}
    note = "duration is not end_time − start_time; end_time − start_time is used"
    assert reasons(found.account.notes)[note] == 2
    assert hours_of_file(found.account) == pytest.approx(64 * (8 + 70) / 3600)


@pytest.mark.parametrize(
    ("cells", "seconds", "note"),
    [
        ("2020-04-01 00:01:00,2020-04-01 01:01:00,3600", 3600, ""),
        ("2020-04-01 00:01:00,2020-04-01 01:01:00,3601", 3601, ""),
        ("2020-04-01 00:01:00,2020-04-01 01:01:00,", 3600, ""),
        ("2020-04-01 00:01:00,2020-04-01 01:01:00,7200", 3600, "is not end_time − start_time"),
        ("2020-04-01 02:01:00,2020-04-01 01:01:00,7200", 7200, "give no duration; duration is us"),
        ("soon,2020-04-01 01:01:00,7200", 7200, "give no duration; duration is used"),
        (",2020-04-01 01:01:00,7200", 7200, ""),
    ],
)
def test_helios_with_three_columns_of_time(
    tmp_path: Path, cells: str, seconds: float, note: str
) -> None:
    header = "job_id,gpu_num,submit_time,start_time,end_time,duration"
    text = rows(f"a,1,2020-04-01 00:00:00,{cells}", header=header)
    found = imported(tmp_path / "t.csv", text, slot_seconds=1.0)
    assert seconds_of(found.instance) == {"a": seconds}
    found_notes = [reason for reason in reasons(found.account.notes) if "used" in reason]
    assert any(note in reason for reason in found_notes)
    if not note:
        assert not any("duration" in reason for reason in found_notes)


def test_mapped_columns_that_contradict_each_other_are_noticed(tmp_path: Path) -> None:
    columns = {"gpus": "g", "start": "from", "end": "to", "duration": "ran:min"}
    text = "g,from,to,ran\n1,0,3600,60\n2,0,3600,90\n"
    found = imported(tmp_path / "t.csv", text, columns=columns)
    assert list(seconds_of(found.instance).values()) == [3600, 3600]
    assert reasons(found.account.notes)["ran is not to − from; to − from is used"] == 1


def test_gpu_time_that_contradicts_gpus_and_duration_is_noticed(tmp_path: Path) -> None:
    text = rows(
        "2017-10-09 07:01:55,60.0,2,120.0,v",
        "2017-10-09 07:01:56,60.0,2,60.0,v",
        "2017-10-09 07:01:57,60.0,2,?,v",
        header="timestamp,duration,num_gpus,gpu_time,cluster",
    )
    notes = reasons(imported(tmp_path / "t.csv", text).account.notes)
    assert notes["gpu_time is not num_gpus × duration; num_gpus and duration are used"] == 1


def test_column_without_a_name_is_no_field(tmp_path: Path) -> None:
    # As pandas writes its index; it was read as iterations, model and more.
    text = ",cards,secs\n7,2,600\n8,1,60\n"
    columns = {"gpus": "cards", "duration": "secs"}
    found = imported(tmp_path / "t.csv", text, columns=columns)
    assert [job.name for job in found.instance.jobs] == ["line2", "line3"]
    assert found.account.used == 2


def test_swf_is_read_between_its_remarks(tmp_path: Path) -> None:
    found = imported(SWF, slot_seconds=1.0)
    assert (found.account.format, found.account.rows) == ("swf", 10)
    jobs = jobs_of(found.instance)
    assert {name: (job.size, job.release, job.tenant) for name, job in jobs.items()} == {
        "1": (4, 0, "1"), "2": (16, 60, "2"), "3": (8, 120, "1"), "5": (2, 240, "3"),
        "6": (8, 300, "2"),
    }  # fmt: skip
    assert seconds_of(found.instance) == {"1": 3600, "2": 600, "3": 1800, "5": 450, "6": 3000}
    assert reasons(found.account.left_out) == {
        "a partial execution of a job, which has a row of its own": 2,
        "it never started": 1,
        "a duration of 0": 1,
        "more GPUs than the cluster's 32": 1,
    }
    notes = reasons(found.account.notes)
    assert notes["a processor counts as a GPU: the format has no GPUs"] == 5
    assert notes["no processors allocated in the file; those requested are used"] == 1
    # UnixStartTime is second 0.
    assert found.instance.time.origin == datetime.fromisoformat("2010-01-01T00:00:00+00:00")
    # Lines as an editor counts them, and queues as groups.
    assert "left out: 1 row: it never started (line 15)" in found.account.lines()
    assert [*jobs_of(imported(SWF, group="2").instance)] == ["3", "5"]


@pytest.mark.parametrize("begin", ["", "\n; remark\n\n"])
def test_swf_needs_no_remarks_but_all_its_cells(tmp_path: Path, begin: str) -> None:
    row = "1 0 0 60 2" + " -1" * 13
    assert imported(tmp_path / "t.swf", f"{begin}{row}\n").account.format == "swf"
    with pytest.raises(InputError, match=r"line .: 17 cells; 18 are expected"):
        imported(tmp_path / "t.swf", f"{begin}{row}\n{row[:-3]}\n")
    with pytest.raises(InputError, match=r"line ., column 'run time': 'x'; a number is expected"):
        imported(tmp_path / "t.swf", f"{begin}{row}\n{row.replace('60', 'x')}\n")


@pytest.mark.parametrize("said", ["; UnixStartTime: 0", "; UnixStartTime: unknown", "; Note: x"])
def test_swf_without_its_start_has_seconds(tmp_path: Path, said: str) -> None:
    row = "1 30 0 60 2" + " -1" * 13
    found = imported(tmp_path / "t.swf", f"{said}\n{row}\n")
    assert found.instance.time.origin is None
    assert found.account.kept[0].endswith("slot 0 begins at 30 s of the trace")


def test_semicolons_still_separate_cells(tmp_path: Path) -> None:
    # As pandas writes an index without a name.
    found = imported(tmp_path / "t.csv", ";g;s\n1;2;60\n", columns={"gpus": "g", "duration": "s"})
    assert [job.size for job in found.instance.jobs] == [2]


STEPS = {
    6: "LM (batch size 40)\tpython main.py\t--steps\t2000000\t90\t4\n",
    7: "LM (batch size 40)\tpython main.py\t--steps\t1\t2000000\t90.000000\t4\n",
    9: "LM (batch size 40)\tpython main.py\t--steps\t1\t2000000\t4\t1\t-1.0\t90\n",
    10: "LM (batch size 40)\tpython main.py\tlm\t--steps\t1\t2000000\t4\t1\t-1.0\t90\n",
}


@pytest.mark.parametrize("cells", STEPS)
def test_every_layout_of_gavel_gives_the_same_job(tmp_path: Path, cells: int) -> None:
    first = STEPS[cells].replace("\t90", "\t0").replace("2000000", "1000000")
    found = imported(tmp_path / "t.trace", first + STEPS[cells], slot_seconds=1.0)
    assert found.account.format == "gavel"
    job = jobs_of(found.instance)["line2"]
    assert (job.size, job.release, job.batch_size) == (4, 90, 40)
    # With 4 GPUs an iteration of all takes 41.65 ms.
    assert seconds_of(found.instance) == {"line1": 10413, "line2": 20825}


def test_seven_columns_of_gavel_have_jobs_without_gpus() -> None:
    found = imported(FIXTURES / "gavel_seven.trace")
    assert (found.account.format, found.account.used) == ("gavel", 3)
    assert reasons(found.account.left_out) == {"no GPU": 1}


def test_six_cells_without_steps_are_not_gavel(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the formats"):
        imported(tmp_path / "t.tsv", "a\tb\tc\t1\t2\t3\n")


def test_spot_jobs_run_on_the_types_of_spot_nodes() -> None:
    found = rarmodel.import_trace(
        FIXTURES / "job_info_df.csv", cluster=FIXTURES / "node_info_df.csv"
    )
    types = {server.name: server.gpu_type for server in found.instance.cluster.servers}
    assert types["2"] == "A10"
    assert found.account.format == "alibaba-spot"
    assert reasons(found.account.left_out) == {
        "more GPUs than the 16 that it may use": 1, "a part of a GPU": 1, "no GPU": 1
    }  # fmt: skip
    assert {name: [*(job.times or {})] for name, job in jobs_of(found.instance).items()} == {
        "1": ["A10"], "2": ["A10"], "3": ["A100-SXM4-80GB"]
    }  # fmt: skip


def test_other_tables_of_pai_say_which_has_the_gpus(tmp_path: Path) -> None:
    row = "4b3f,8cb3,58540f191766,Terminated,4550879.0,4551416.0\n"
    with pytest.raises(InputError, match=r"line 1: a row of a PAI trace .* pai_task_table.csv has"):
        imported(tmp_path / "pai_job_table.csv", row)
