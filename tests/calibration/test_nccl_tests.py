"""The output of nccl-tests in the forms that it really has, and what is no such output."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import label
from measurements import FORMS, nccl_output, refused

from rarmodel.calibration import Run, read_run
from rarmodel.errors import InputError
from rarmodel.model import exchange_bits

SIZES = (2**24, 2**26)
GOOD = nccl_output(sizes=SIZES)


def read(path: Path, text: str) -> Run:
    path.write_text(text, encoding="utf-8")
    return read_run(str(path))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mark", ["", "[1,0]<stdout>:", "[1,0]<stdout>: ", "0: "])
def test_every_form_gives_the_same_run(tmp_path: Path, form: str, mark: str) -> None:
    run = read(tmp_path / "run.txt", nccl_output(sizes=SIZES, form=form, mark=mark))
    assert (run.gpus, run.servers) == (8, 2)
    assert [(m.size_mb, m.in_place) for m in run.messages] == [
        (size * 1e-6, in_place) for size in SIZES for in_place in (False, True)
    ]
    for message in run.messages:
        exact = exchange_bits(message.size_mb, 8) / 80e9
        assert message.seconds == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("servers", [1, 2, 4])
def test_hosts_of_the_ranks_are_the_servers(tmp_path: Path, servers: int) -> None:
    assert read(tmp_path / "run.txt", nccl_output(servers=servers)).servers == servers


def test_in_place_and_out_of_place_times_are_kept_apart(tmp_path: Path) -> None:
    run = read(tmp_path / "run.txt", nccl_output(sizes=SIZES, faster_in_place=2.0))
    slow, fast = run.messages[:2]
    assert (slow.in_place, fast.in_place) == (False, True)
    assert slow.seconds == pytest.approx(2 * fast.seconds, rel=1e-3)


def test_unchecked_run_has_no_number_of_wrong_values(tmp_path: Path) -> None:
    assert len(read(tmp_path / "run.txt", nccl_output(sizes=SIZES, wrong="N/A")).messages) == 4


def test_error_of_older_versions_is_no_number_of_wrong_values(tmp_path: Path) -> None:
    text = nccl_output(sizes=SIZES, form="2020", wrong="4e-07")
    assert len(read(tmp_path / "run.txt", text).messages) == 4


def test_columns_of_single_iterations_and_time_stamps_are_passed_over(tmp_path: Path) -> None:
    lines = []
    for line in GOOD.splitlines():
        words = line.split()
        if "busbw" in words:
            half = ["time", "algbw", "busbw", "#wrong", "i_min", "i_max", "i_p99", "i_cv%"]
            words = [*words[: words.index("time")], *half, *half, "timestamp"]
        elif words[:1] in (["16777216"], ["67108864"]):
            extra = ["1", "2", "3", "4"]
            words = [*words[:9], *extra, *words[9:], *extra, "2025-01-01", "10:00:00"]
        lines.append(" ".join(words))
    run = read(tmp_path / "run.txt", "\n".join(lines))
    assert run.messages == tuple(message for message in read(tmp_path / "plain.txt", GOOD).messages)


def test_sizes_of_nothing_are_passed_over(tmp_path: Path) -> None:
    text = GOOD.replace(
        "# Out of bounds",
        "           0             0     float     sum      -1     4.10    0.00    0.00      0"
        "     3.92    0.00    0.00      0\n# Out of bounds",
    )
    assert len(read(tmp_path / "run.txt", text).messages) == 4


FIXTURES = Path(__file__).parent / "fixtures"


def test_times_from_ten_seconds_on_have_two_digits(tmp_path: Path) -> None:
    run = read_run(str(FIXTURES / "nccl-ten-seconds.txt"))
    assert (run.gpus, run.servers, len(run.messages)) == (2, 2, 10)
    # 1.17 GB/s beside 1.5e+07 tells the time better, which is 14.68 s.
    long = [m for m in run.messages if m.size_mb > 17000 and not m.in_place]
    assert [m.seconds for m in long] == pytest.approx([14.684, 29.367], rel=1e-3)
    for message in run.messages:
        gbytes = exchange_bits(message.size_mb, 2) / 8e9 / message.seconds
        assert gbytes == pytest.approx(1.165, abs=0.011)


@pytest.mark.parametrize(
    ("time", "bus", "fits"),
    [
        ("1.5e+07", "1.17", True),
        ("1.5e+07", "1.19", True),
        ("1.5e+07", "1.10", True),
        ("1.5e+07", "1.25", False),
        ("1.5e+07", "2.29", False),
        ("15000000", "1.15", True),
        ("15000000", "1.17", False),
        ("2e+07", "1.17", False),
        ("1e+07", "1.17", True),
    ],
)
def test_tolerance_follows_the_digits_that_are_printed(
    tmp_path: Path, time: str, bus: str, *, fits: bool
) -> None:
    lines = (FIXTURES / "nccl-ten-seconds.txt").read_text(encoding="utf-8").splitlines()
    row = f"17179869184 4294967296 float sum -1 {time} 1.17 {bus} 0 {time} 1.17 {bus} 0"
    text = "\n".join([*lines[:9], row, ""])
    if fits:
        assert len(read(tmp_path / "run.txt", text).messages) == 2
    else:
        (line,) = refused(read_run, tmp_path / "run.txt", text)
        assert line.startswith(f"line 10: busbw {bus}")


def test_hosts_of_one_name_are_refused() -> None:
    path = FIXTURES / "nccl-equal-hosts.txt"
    with pytest.raises(InputError) as caught:
        read_run(str(path))
    (line,) = caught.value.lines()
    assert line == (
        f"{path}: line 12: ranks 0 and 8 both have the GPU [0000:04:00] of host 'pod', so several "
        "hosts have this name; give each host or container a name of its own, here and in the "
        "other lines of ranks"
    )


def test_names_of_hosts_that_differ_make_the_run_whole(tmp_path: Path) -> None:
    lines = (FIXTURES / "nccl-equal-hosts.txt").read_text(encoding="utf-8").splitlines()
    lines[11:19] = [line.replace("on        pod", "on      pod-2") for line in lines[11:19]]
    run = read(tmp_path / "run.txt", "\n".join(lines))
    assert (run.gpus, run.servers) == (16, 2)


def test_buses_alone_may_be_equal_on_a_host_of_several_domains(tmp_path: Path) -> None:
    # Older versions print the bus without its domain; these GPUs have numbers of their own.
    assert read(tmp_path / "run.txt", GOOD).servers == 2
    text = GOOD.replace("device  1 [0x1a]", "device  0 [0x1a]")
    (line,) = refused(read_run, tmp_path / "run.txt", text)
    assert "ranks 0 and 1 both have the GPU 0 [0x1a] of host 'node0'" in line


NO_RANKS = "\n".join(line for line in GOOD.splitlines() if "Rank" not in line)
ALONE = nccl_output(gpus=1, servers=1, sizes=SIZES)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (
            "",
            [
                "no lines '# Rank … on HOST device …', which tell the servers; keep the header",
                "no line with 'time algbw busbw'; the output of all_reduce_perf is expected",
            ],
        ),
        (
            NO_RANKS,
            ["no lines '# Rank … on HOST device …', which tell the servers; keep the header"],
        ),
        (
            ALONE,
            [
                (
                    "one rank; a ring has two or more: choose -g 2 or more, and several servers "
                    "need nccl-tests built with MPI=1"
                )
            ],
        ),
        (
            GOOD + GOOD,
            [
                (
                    "line 27: rank 0 again; a file has one run, and all ranks of a ring are in "
                    "one: several servers need nccl-tests built with MPI=1"
                )
            ],
        ),
        (
            GOOD.split("    16777216")[0],
            ["no message of more than 0 bytes; was the run cut short?"],
        ),
        (
            GOOD.replace("Out of bounds values : 0 OK", "Out of bounds values : 248 FAILED"),
            ["line 20: 248 values out of bounds; a run without is expected"],
        ),
        (
            GOOD.replace("Out of bounds values : 0 OK", f"Out of bounds values : {'9' * 5000}"),
            ["line 20: 99999999999999999999 values out of bounds; a run without is expected"],
        ),
        (
            GOOD.replace("Rank ", f"Rank {'9' * 5000}"),
            ["no lines '# Rank … on HOST device …', which tell the servers; keep the header"],
        ),
        (
            nccl_output(sizes=SIZES, wrong="12"),
            [
                "line 18: 12 wrong values; a run without is expected",
                "line 19: 12 wrong values; a run without is expected",
            ],
        ),
        (
            GOOD.replace("all_reduce_perf", "all_gather_perf"),
            ["line 1: output of all_gather_perf; that of all_reduce_perf is expected"],
        ),
        (
            GOOD.replace("      -1  ", "       0  "),
            [
                "line 18: no all-reduce; the output of all_reduce_perf is expected",
                "line 19: no all-reduce; the output of all_reduce_perf is expected",
            ],
        ),
        (
            GOOD.replace(" 10.00 ", " 20.00 "),
            [
                (
                    "line 18: busbw 20 GB/s; size, time and 8 ranks give 10.00, as a ring's "
                    "all-reduce has: another collective or NCCL_ALGO=NVLS?"
                )
            ],
        ),
        (
            GOOD.replace(" time ", " cputime "),
            ["line 16: times of the CPU, not of the all-reduce; run without -C 1"],
        ),
        (
            GOOD.replace("Group  0 Pid   4107", "Group  1 Pid   4107"),
            ["2 groups at once, which contend; a run of one group is expected"],
        ),
        (
            GOOD + "node0: Test NCCL failure common.cu:958 'unhandled system error'\n",
            [
                (
                    "line 23: the run failed: node0: Test NCCL failure common.cu:958 "
                    "'unhandled system error'"
                )
            ],
        ),
        (
            GOOD.replace("    67108864      16777216", "    67108864"),
            ["line 19: 12 cells; 13 are expected, as in the header"],
        ),
        (
            GOOD.replace(" 10.00 ", " ten "),
            [
                "line 18: 'ten'; a number is expected",
                "line 19: 'ten'; a number is expected",
            ],
        ),
        (
            GOOD.replace(" 10.00 ", "   nan ", 1),
            ["line 18: 'nan'; a number is expected"],
        ),
        (
            GOOD.replace("busbw  #wrong     time", "bus  #wrong     time"),
            [
                "line 18: no 'busbw' beside 'time' in the header; it is expected",
                "line 19: no 'busbw' beside 'time' in the header; it is expected",
            ],
        ),
        (
            GOOD.replace("    2936.0    5.71", "      0.00    5.71"),
            ["line 18: a time of 0.00; one above 0 is expected"],
        ),
        (b"\xff\xfe\x00", ["UTF-16 text; UTF-8 is expected"]),
    ],
    ids=label,
)
def test_what_is_no_run_of_all_reduce_is_refused(
    tmp_path: Path, content: str | bytes, lines: list[str]
) -> None:
    assert refused(read_run, tmp_path / "run.txt", content) == lines
