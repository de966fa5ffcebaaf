"""GPU hours of a trace are those used and those explained, in every layout that is published.

Each file is also read here, by itself: by the columns as their publishers describe them.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from traces import FIXTURES, accounted, imported, rows

import rarmodel
from rarmodel.workloads import FORMATS, Account

Row = dict[str, str]
PAI = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"


def table(path: Path, delimiter: str = ",", header: str = "") -> Iterator[Row]:
    names = header.split(",") if header else None
    with path.open(encoding="utf-8") as file:
        yield from csv.DictReader(file, names, delimiter=delimiter)


def date(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def clock(text: str) -> float:
    days, _, rest = text.rpartition("-")
    hours, minutes, seconds = rest.split(":")
    return 86400 * float(days or 0) + 3600 * float(hours) + 60 * float(minutes) + float(seconds)


def philly_json(path: Path) -> float:
    return sum(
        sum(len(server["gpus"]) for server in attempt["detail"])
        * (date(attempt["end_time"]) - date(attempt["start_time"]))
        for job in json.loads(path.read_text(encoding="utf-8"))
        for attempt in job["attempts"]
    )


def swf(path: Path) -> float:
    total = 0.0
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(";"):
            continue
        cells = [float(cell) for cell in line.split()]
        ran, allocated, requested, status = cells[3], cells[4], cells[7], cells[10]
        if status not in {2, 3, 4} and ran > 0:
            total += ran * (requested if allocated == -1 else allocated)
    return total


def tres(text: str) -> int:
    found = re.search(r"gres/gpu=([0-9]+)", text)
    return int(found[1]) if found else 0


def sacct_fixed(path: Path) -> float:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = (re.search(r"([0-9-]*[0-9]+:[0-9]+:[0-9]+) .*gres/gpu=([0-9]+)", one) for one in lines)
    return sum(clock(one[1]) * int(one[2]) for one in found if one)


def sacct_json(path: Path) -> float:
    return sum(
        float(resource["count"] * job["time"]["elapsed"])
        for job in json.loads(path.read_text(encoding="utf-8"))["jobs"]
        for resource in job["tres"]["allocated"]
    )


def summed(each: Callable[[Row], float], **how: Any) -> Callable[[Path], float]:
    return lambda path: sum(map(each, table(path, **how)))


FILES: dict[str, tuple[str, Callable[[Path], float]]] = {
    "philly.csv": ("philly", summed(lambda r: float(r["num_gpus"]) * float(r["duration"]))),
    "cluster_job_log.json": ("philly-json", philly_json),
    "muri.csv": ("muri", summed(lambda r: float(r["num_gpu"]) * float(r["duration"]) / 1000)),
    "tiresias.csv": ("tiresias", summed(lambda r: float(r["num_gpu"]) * float(r["duration"]))),
    "cluster_log.csv": ("helios", summed(lambda r: float(r["gpu_num"]) * float(r["duration"]))),
    "acme-kalos.csv": (
        "acme",
        summed(lambda r: float(r["gpu_num"]) * (date(r["end_time"]) - date(r["start_time"]))),
    ),
    "acme-seren-zones.csv": ("acme", summed(lambda r: float(r["gpu_time"]))),
    "job_info_df.csv": (
        "alibaba-spot",
        summed(lambda r: float(r["gpu_request"]) * float(r["worker_num"]) * float(r["duration"])),
    ),
    "pai_task_table.csv": (
        "pai",
        summed(
            lambda r: (
                float(r["plan_gpu"] or 0)
                / 100
                * float(r["inst_num"])
                * (float(r["end_time"]) - float(r["start_time"]))
            ),
            header=PAI,
        ),
    ),
    "openb_pod_list.csv": (
        "openb",
        summed(
            lambda r: (
                float(r["num_gpu"])
                * float(r["gpu_milli"])
                / 1000
                * (float(r["deletion_time"]) - float(r["scheduled_time"]))
            )
        ),
    ),
    "supercloud_slurm-log.csv": (
        "supercloud",
        summed(
            lambda r: (
                float(r["gres_used"].split(":")[-1])
                * (float(r["time_end"]) - float(r["time_start"]))
            )
        ),
    ),
    "sacct_p.txt": (
        "sacct",
        summed(lambda r: tres(r["ReqTRES"]) * float(r["ElapsedRaw"]), delimiter="|"),
    ),
    "sacct_noelapsed.txt": (
        "sacct",
        summed(lambda r: tres(r["AllocTRES"]) * (date(r["End"]) - date(r["Start"])), delimiter="|"),
    ),
    "sacct_array.txt": (
        "sacct",
        summed(lambda r: tres(r["AllocTRES"]) * clock(r["Elapsed"]), delimiter="|"),
    ),
    "sacct_fixed.txt": ("sacct", sacct_fixed),
    "sacct.json": ("sacct-json", sacct_json),
    "parallel.swf": ("swf", swf),
}


def all_hours(account: Account) -> float:
    return account.gpu_hours_recorded + account.gpu_hours_left_out


def test_each_format_with_durations_has_a_file() -> None:
    # Gavel's traces have steps; rarmodel's own layout is in the property below. Scores have no
    # windows, and are in `test_sweep_scores`.
    others = {"gavel", "rarmodel", "scores"}
    assert {form for form, _ in FILES.values()} == FORMATS.keys() - others


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_jobs": 2},
        {"window": "0h..1h"},
        {"servers": 1, "gpus_per_server": 4},
        {"arrivals": "zero", "slot_seconds": 7.0, "measured_gbps": 1.0},
    ],
    ids=str,
)
def test_hours_in_are_hours_used_and_hours_explained(name: str, options: dict[str, Any]) -> None:
    form, hours = FILES[name]
    given = {"servers": 8, "gpus_per_server": 8, **options}
    try:
        account = rarmodel.import_trace(FIXTURES / name, **given).account
    except rarmodel.errors.InputError as error:
        assert "no job is left" in str(error)  # noqa: PT017 - nothing is left to be added up
        pytest.skip("no job is left")
    assert account.format == form
    assert accounted(account) == account.rows
    assert all_hours(account) == pytest.approx(hours(FIXTURES / name) / 3600)
    assert account.gpu_hours_left_out == sum(group.gpu_hours for group in account.left_out)


@given(
    jobs=st.lists(
        st.tuples(
            st.sampled_from(["", "0", "0.5", "1", "4", "8", "40"]),
            st.sampled_from(["", "0", "1", "59.5", "3600", "86400"]),
            st.sampled_from(["", "0", "100", "7200"]),
            st.sampled_from(["", "x", "y"]),
        ),
        min_size=1,
        max_size=12,
    ),
    options=st.fixed_dictionaries(
        {},
        optional={
            "window": st.just("0h..1h"),
            "group": st.just("x"),
            "max_jobs": st.integers(1, 3),
            "measured_gbps": st.sampled_from([1.0, 400.0]),
            "arrivals": st.just("zero"),
        },
    ),
)
@examples(25, suppress_health_check=[HealthCheck.too_slow])
def test_hours_add_up_whatever_is_left_out(
    tmp_path_factory: pytest.TempPathFactory,
    jobs: list[tuple[str, str, str, str]],
    options: dict[str, Any],
) -> None:
    lines = [
        f"j{k},0,{gpus},{submit},{seconds},,,,{group}"
        for k, (gpus, seconds, submit, group) in enumerate(jobs)
    ]
    path = tmp_path_factory.mktemp("hours") / "t.csv"
    certain = "certain,0,1,0,600,,vgg16,,x"
    account = imported(path, rows(*lines, certain), **options).account
    seconds = sum(float(gpus or 0) * float(seconds or 0) for gpus, seconds, _, _ in jobs)
    assert all_hours(account) == pytest.approx((seconds + 600) / 3600)
