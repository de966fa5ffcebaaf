"""Read the JSON of `all_reduce_perf -J FILE` (`src/util.cu` of nccl-tests, file versions 1 and 2).

The file lists only the first rank of each process: ranks 0 and 8 of two processes with 8 GPUs each.
NaN is written as `"nan"`, and with `-c 0` the number of wrong values is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rarmodel.errors import Problem
from rarmodel.schema.cluster import MAX_GPUS
from rarmodel.schema.problems import problems_of

from .run import Device, Found, Message, Told, address_of

_ROUNDED = 5e-7
"""Greatest error of a number by its rounding to six decimals."""
_Natural = Annotated[int, Field(ge=0)]
_Count = Annotated[int, Field(ge=1, le=1024)]
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    """A part of the file; only the fields that we need are declared."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Device(_Part):
    """A rank; further ranks of its process may be missing."""

    rank: _Natural
    group: int = 0
    hostname: str
    device: int | None = None
    device_hex: str | None = None


class _Config(_Part):
    """The participants: each process has as many ranks as threads times GPUs per thread."""

    nthreads: _Count
    ngpus: _Count
    devices: list[_Device]


class _Half(_Part):
    """The out-of-place or the in-place result; microseconds and GB/s."""

    time: _Number | None = None
    cpu_time: _Number | None = None
    bus_bw: _Number
    nwrong: _Number | Literal["nan"] | None = None


class _Result(_Part):
    """The results of a size in bytes; `root` is −1 if there is none."""

    size: _Natural
    redop: str
    root: str
    out_of_place: _Half | None = None
    in_place: _Half | None = None


class _OutOfBounds(_Part):
    """The total number of wrong values."""

    count: _Natural


class _File(_Part):
    """The file; `args` is the command line."""

    args: list[str] = []
    config: _Config
    results: list[_Result]
    out_of_bounds: _OutOfBounds | None = None


def read_json(text: str, problems: list[Problem]) -> Found:
    """Parse the file; problems are added to the list."""
    nothing = Found({}, set(), [])
    try:
        file = _File.model_validate(json.loads(text))
    except ValidationError as error:
        problems += problems_of(error)
        return nothing
    except (RecursionError, ValueError) as error:
        problems.append(Problem("", f"not JSON: {error}; was the run cut short?"))
        return nothing
    program = PurePath(file.args[0]).name if file.args else ""
    if "_perf" in program and "all_reduce" not in program:
        text = f"output of {program}; that of all_reduce_perf is expected"
        problems.append(Problem("args", text))
    if file.out_of_bounds is not None and file.out_of_bounds.count:
        text = f"{file.out_of_bounds.count} values out of bounds; a run without is expected"
        problems.append(Problem("out_of_bounds", text))
    messages = [*_messages(file, problems)]
    if not messages and not problems:
        problems.append(Problem("results", "no message of more than 0 bytes"))
    groups = {str(device.group) for device in file.config.devices}
    devices = tuple(
        Device(f"config.devices[{i}]", one.rank, one.hostname, address_of(one.device, address))
        for i, one in enumerate(file.config.devices)
        if (address := one.device_hex)
    )
    return Found(_hosts(file.config, problems), groups, messages, devices)


def _hosts(config: _Config, problems: list[Problem]) -> dict[int, str]:
    """Host of each rank, including ranks that the file leaves out."""
    hosts: dict[int, str] = {}
    each = config.nthreads * config.ngpus
    if each * len(config.devices) > MAX_GPUS:
        text = f"{each * len(config.devices)} ranks in all; at most {MAX_GPUS} are supported"
        problems.append(Problem("config", text))
        return {}
    listed = {device.rank: device.hostname for device in config.devices}
    for rank, host in listed.items():
        # A rank that is listed itself, and is not the first of its process, agrees anyway.
        first = rank - rank % each
        hosts |= dict.fromkeys(range(first, first + each), host)
    if len(listed) < len(config.devices) or sorted(hosts) != list(range(len(hosts))) or not hosts:
        text = "ranks that are missing or there twice; each process is expected once"
        problems.append(Problem("config.devices", text))
        return {}
    return hosts


def _messages(file: _File, problems: list[Problem]) -> Iterator[Told]:
    """Each all-reduce of more than 0 bytes."""
    for i, result in enumerate(file.results):
        if result.redop == "none" or result.root.strip() != "-1":
            text = "no all-reduce; the output of all_reduce_perf is expected"
            problems.append(Problem(f"results[{i}]", text))
            continue
        for half, in_place in ((result.out_of_place, False), (result.in_place, True)):
            place = f"results[{i}].{'in_place' if in_place else 'out_of_place'}"
            if half is None or result.size == 0:
                continue
            if isinstance(half.nwrong, float | int) and half.nwrong > 0:
                text = f"{half.nwrong:g} wrong values; a run without is expected"
                problems.append(Problem(place, text))
            elif half.cpu_time is not None:
                text = "times of the CPU, not of the all-reduce; run without -C 1"
                problems.append(Problem(place, text))
            elif not half.time:
                problems.append(Problem(place, "no time above 0; one is expected"))
            else:
                message = Message(i + 1, result.size * 1e-6, half.time * 1e-6, in_place)
                yield Told(message, place, half.bus_bw, bus_off=_ROUNDED)
