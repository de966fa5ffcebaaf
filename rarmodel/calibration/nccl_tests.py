"""Read the printed output of `all_reduce_perf` of NVIDIA's nccl-tests: ranks and times.

The columns differ by version: `size count type redop root time algbw busbw #wrong` with the last
four once for out-of-place and once for in-place; `error` instead of `#wrong` and no `root` before
2022; `bytes N type op … res` before 2019. With `-c 0` nothing is checked and the wrong values are
`N/A`. MPI and Slurm may mark each line, and NCCL's own log may appear between lines. `nccl_json`
reads the files of `-J`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rarmodel.defaults import MAX_MB
from rarmodel.errors import InputError, Problem
from rarmodel.files import read_bytes
from rarmodel.schema.problems import show
from rarmodel.workloads.trace_table import LARGER, decoded

from .nccl_json import read_json
from .run import (
    Device,
    Found,
    Message,
    Run,
    Told,
    address_of,
    contradictions,
    equal_hosts,
    problems_of_ring,
    refined,
)

_MARK = re.compile(r"^\s*(?:\[\d+,\d+\](?:<\w+>)?:|\d+:(?= ))")
_RANK = re.compile(
    r"\bRank\s+([0-9]{1,18})\s+(?:Group\s+(\d+)\s+)?(?:Pid\s+\d+\s+)?on\s+(\S+)\s+device\b"
    r"(?:\s+(\d+)\s+\[([0-9a-fA-Fx:.]+)\])?"
)
_STARTING = re.compile(r"Collective test starting:\s*(\S+)")
_WRONG = re.compile(r"Out of bounds values\s*:\s*([0-9]+)")
_FAILED = re.compile(r"Test (?:\w+ )?failure")
_DIGITS = re.compile(r"[0-9]{1,18}")


class _Line(NamedTuple):
    number: int
    text: str


def read_run(source: str, max_mb: float = MAX_MB) -> Run:
    """Read the output of `all_reduce_perf`, printed or from `-J`; `-` is stdin.

    Parameters
    ----------
    source
        The file.
    max_mb
        Greatest size in MB.

    Raises
    ------
    InputError
        With every problem of the file: it is not such output, is of another collective, lacks the
        list of ranks, has a ring of one, equal names of hosts, wrong results, or numbers that
        contradict each other.
    """
    name, raw = read_bytes(source, max_mb, LARGER)
    text = decoded(raw, name)
    problems: list[Problem] = []
    read = read_json if text.lstrip().startswith("{") else _read_text
    found = read(text, problems)
    if found.hosts:
        problems += problems_of_ring(found)
        problems += equal_hosts(found)
    if found.hosts and found.messages and not problems:
        problems += contradictions(found)
    if problems:
        raise InputError(problems, name)
    messages = tuple(refined(found))
    return Run(name, len(found.hosts), len(set(found.hosts.values())), messages)


def _read_text(text: str, problems: list[Problem]) -> Found:
    """Parse the printed output; problems are added to the list."""
    lines = [_Line(i, _MARK.sub("", line)) for i, line in enumerate(text.splitlines(), 1)]
    problems += _failures(lines)
    hosts, groups, devices = _hosts(lines, problems)
    return Found(hosts, groups, _messages(lines, problems), tuple(devices))


def _failures(lines: Iterable[_Line]) -> Iterator[Problem]:
    """Problems that show that the run is not a successful all-reduce."""
    for number, text in lines:
        place = f"line {number}"
        if (found := _STARTING.search(text)) and "all_reduce" not in found[1]:
            yield Problem(place, f"output of {found[1]}; that of all_reduce_perf is expected")
        if (found := _WRONG.search(text)) and found[1].strip("0"):
            yield Problem(place, f"{found[1][:20]} values out of bounds; a run without is expected")
        if _FAILED.search(text):
            yield Problem(place, f"the run failed: {text.strip()[:80]}")


def _hosts(
    lines: Iterable[_Line], problems: list[Problem]
) -> tuple[dict[int, str], set[str], list[Device]]:
    """Host of each rank, groups, GPUs: `#  Rank  0 Group  0 Pid 18 on node1 device  0 [0x1a]`."""
    hosts: dict[int, str] = {}
    devices: list[Device] = []
    groups: set[str] = set()
    for number, text in lines:
        if not (found := _RANK.search(text)):
            continue
        rank = int(found[1])
        if rank in hosts:
            message = (
                f"rank {rank} again; a file has one run, and all ranks of a ring are in one: "
                "several servers need nccl-tests built with MPI=1"
            )
            problems.append(Problem(f"line {number}", message))
            return hosts, groups, devices
        hosts[rank] = found[3]
        groups.add(found[2] or "0")
        if address := found[5]:
            gpu = address_of(int(found[4]), address)
            devices.append(Device(f"line {number}", rank, found[3], gpu))
    if not hosts:
        message = "no lines '# Rank … on HOST device …', which tell the servers; keep the header"
        problems.append(Problem("", message))
    return hosts, groups, devices


def _messages(lines: Iterable[_Line], problems: list[Problem]) -> list[Told]:
    """Each all-reduce and the bus bandwidth printed with it."""
    header: Sequence[str] = ()
    messages: list[Told] = []
    for number, text in lines:
        words = text.split()
        if "algbw" in words and "busbw" in words and words[0] in {"#", "bytes", "size"}:
            header = words[words[0] == "#" :]
            if "cputime" in header:
                message = "times of the CPU, not of the all-reduce; run without -C 1"
                problems.append(Problem(f"line {number}", message))
                return []
        elif header and words and _DIGITS.fullmatch(words[0]):
            try:
                messages += _both(header, words, number)
            except ValueError as error:
                problems.append(Problem(f"line {number}", str(error)))
    if not header:
        message = "no line with 'time algbw busbw'; the output of all_reduce_perf is expected"
        problems.append(Problem("", message))
    elif not messages and not problems:
        problems.append(Problem("", "no message of more than 0 bytes; was the run cut short?"))
    return messages


def _both(header: Sequence[str], words: Sequence[str], number: int) -> Iterator[Told]:
    """The out-of-place and the in-place result of a line."""
    if len(words) < len(header):
        raise ValueError(f"{len(words)} cells; {len(header)} are expected, as in the header")
    cells = list(zip(header, words, strict=False))
    size = int(words[0])
    root = dict(cells).get("root", "-1")
    if not {"redop", "op"} & set(header) or root != "-1":
        raise ValueError("no all-reduce; the output of all_reduce_perf is expected")
    starts = [i for i, (name, _) in enumerate(cells) if name == "time"]
    for in_place, start in enumerate(starts):
        result = dict(cells[start : start + 4])
        if "busbw" not in result:
            raise ValueError("no 'busbw' beside 'time' in the header; it is expected")
        if (wrong := result.get("#wrong", "N/A")) != "N/A" and _number(wrong) > 0:
            raise ValueError(f"{wrong} wrong values; a run without is expected")
        time, bus = result["time"], result["busbw"]
        seconds = _number(time) * 1e-6
        if size > 0:
            if seconds <= 0:
                raise ValueError(f"a time of {result['time']}; one above 0 is expected")
            message = Message(number, size * 1e-6, seconds, bool(in_place))
            place = f"line {number}"
            yield Told(message, place, _number(bus), 1e-6 * _rounding(time), _rounding(bus))


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{show(text)}; a number is expected")
    return number


def _rounding(text: str) -> float:
    """The greatest error of a number by its rounding to the digits printed."""
    digits, _, power = text.lower().partition("e")
    return float(0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2])))
