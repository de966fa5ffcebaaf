"""What nccl-tests writes as JSON, and what is no such file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from documents import label
from measurements import nccl_output, refused

from rarmodel.calibration import read_run
from rarmodel.model import exchange_bits

SIZES = (0, 2**24, 2**26)


def half(size: int, gpus: int, nwrong: float | None) -> dict[str, Any]:
    """A result of a ring of 80 Gbit/s."""
    # What a GPU alone takes is the time of a copy, and no bandwidth of a ring.
    seconds = (exchange_bits(size * 1e-6, gpus) or size) / 80e9
    alg = size / 1e9 / seconds if size else 0.0
    bus = alg * 2 * (gpus - 1) / gpus
    return {
        "time": round(seconds * 1e6, 6),
        "alg_bw": round(alg, 6),
        "bus_bw": round(bus, 6),
        "nwrong": nwrong,
    }


def written(
    *, processes: int = 2, threads: int = 1, gpus: int = 4, nwrong: float | None = 0.0
) -> dict[str, Any]:
    """What is written for processes on a host each, of which the first rank is listed."""
    each = threads * gpus
    return {
        "version": 2,
        "args": ["./build/all_reduce_perf", "-g", str(gpus), "-J", "out.json"],
        "env": ["HOME=/root"],
        "nccl_version": 22703,
        "config": {
            "nthreads": threads,
            "ngpus": gpus,
            "blocking_collectives": "false",
            "devices": [
                {"rank": p * each, "group": 0, "pid": 4100, "hostname": f"node{p}", "device": 0}
                for p in range(processes)
            ],
        },
        "results": [
            {
                "size": size,
                "count": size // 4,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": half(size, each * processes, nwrong),
                "in_place": half(size, each * processes, nwrong),
                "actual_iterations": 20,
                "experiment_name": "",
            }
            for size in SIZES
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 10.0, "okay": "unchecked"},
        "errors": [],
    }


@pytest.mark.parametrize("nwrong", [0.0, None])
def test_json_gives_the_same_run_as_what_is_printed(tmp_path: Path, nwrong: float | None) -> None:
    (tmp_path / "run.json").write_text(json.dumps(written(nwrong=nwrong)), encoding="utf-8")
    (tmp_path / "run.txt").write_text(nccl_output(sizes=SIZES[1:]), encoding="utf-8")
    one, other = read_run(str(tmp_path / "run.json")), read_run(str(tmp_path / "run.txt"))
    assert (one.gpus, one.servers) == (other.gpus, other.servers) == (8, 2)
    assert [(m.size_mb, m.in_place) for m in one.messages] == [
        (m.size_mb, m.in_place) for m in other.messages
    ]
    for exact, printed in zip(one.messages, other.messages, strict=True):
        assert exact.seconds == pytest.approx(printed.seconds, rel=1e-3)
    assert [message.line for message in one.messages] == [2, 2, 3, 3]


@pytest.mark.parametrize(("processes", "threads", "gpus"), [(1, 1, 8), (3, 2, 2), (4, 1, 1)])
def test_ranks_of_a_process_count_though_only_the_first_is_listed(
    tmp_path: Path, processes: int, threads: int, gpus: int
) -> None:
    data = written(processes=processes, threads=threads, gpus=gpus)
    (tmp_path / "run.json").write_text(json.dumps(data), encoding="utf-8")
    run = read_run(str(tmp_path / "run.json"))
    assert (run.gpus, run.servers) == (processes * threads * gpus, processes)


def test_ranks_that_are_all_listed_count_once(tmp_path: Path) -> None:
    data = written()
    data["config"]["devices"] = [{"rank": r, "hostname": f"node{r // 4}"} for r in range(8)]
    (tmp_path / "run.json").write_text(json.dumps(data), encoding="utf-8")
    run = read_run(str(tmp_path / "run.json"))
    assert (run.gpus, run.servers) == (8, 2)


def test_out_of_place_may_be_left_out(tmp_path: Path) -> None:
    data = written()
    data["results"][1]["out_of_place"] = None
    (tmp_path / "run.json").write_text(json.dumps(data), encoding="utf-8")
    assert len(read_run(str(tmp_path / "run.json")).messages) == 3


def changed(*path: str | int, value: Any) -> str:
    """The text with one value changed."""
    data: Any = written()
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("content", "start"),
    [
        (json.dumps(written())[:-80], "not JSON: "),
        ("{" * 100_000, "not JSON: "),
        (json.dumps({"results": []}), "config: missing; this field is required"),
        (
            changed("args", value=["/opt/reduce_scatter_perf_mpi"]),
            "args: output of reduce_scatter_perf_mpi; that of all_reduce_perf is expected",
        ),
        (changed("out_of_bounds", "count", value=3), "out_of_bounds: 3 values out of bounds"),
        (changed("results", value=[]), "results: no message of more than 0 bytes"),
        (changed("results", 1, "root", value="     0"), "results[1]: no all-reduce"),
        (changed("results", 1, "redop", value="none"), "results[1]: no all-reduce"),
        (
            changed("results", 1, "in_place", "nwrong", value=2.0),
            "results[1].in_place: 2 wrong values; a run without is expected",
        ),
        (
            changed("results", 1, "in_place", "cpu_time", value=2.0),
            "results[1].in_place: times of the CPU",
        ),
        (changed("results", 1, "in_place", "time", value=0.0), "results[1].in_place: no time"),
        (
            changed("results", 1, "in_place", "bus_bw", value="nan"),
            "results[1].in_place.bus_bw: 'nan'; a number is expected",
        ),
        (
            changed("results", 2, "in_place", "bus_bw", value=5.0),
            "results[2].in_place: busbw 5 GB/s; size, time and 8 ranks give 10.00",
        ),
        (changed("config", "devices", value=[]), "config.devices: ranks that are missing"),
        (changed("config", "devices", 1, "rank", value=8), "config.devices: ranks that are miss"),
        (changed("config", "devices", 1, "rank", value=0), "config.devices: ranks that are miss"),
        (changed("config", "devices", 1, "group", value=1), "2 groups at once, which contend"),
        (
            changed(
                "config",
                value={
                    "nthreads": 1024,
                    "ngpus": 1024,
                    "devices": [{"rank": i, "hostname": "a"} for i in range(10)],
                },
            ),
            "config: 10485760 ranks in all; at most 10000000 are supported",
        ),
        (json.dumps(written(processes=1, gpus=1)), "one rank; a ring has two or more"),
    ],
    ids=label,
)
def test_what_is_no_run_of_all_reduce_is_refused(tmp_path: Path, content: str, start: str) -> None:
    (line,) = refused(read_run, tmp_path / "run.json", content)
    assert line.startswith(start)


def test_hosts_of_one_name_are_refused(tmp_path: Path) -> None:
    data = written()
    for device in data["config"]["devices"]:
        device |= {"hostname": "pod", "device_hex": "0000:04:00"}
    (line,) = refused(read_run, tmp_path / "run.json", json.dumps(data))
    assert line.startswith(
        "config.devices[1]: ranks 0 and 4 both have the GPU [0000:04:00] of host 'pod'"
    )
    data["config"]["devices"][1]["device_hex"] = "0000:0b:00"
    (tmp_path / "run.json").write_text(json.dumps(data), encoding="utf-8")
    assert read_run(str(tmp_path / "run.json")).servers == 1
