"""A run of nccl-tests: ranks, times of messages, and checks that they form one ring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rarmodel.errors import Problem
from rarmodel.model import exchange_bits


class Message(NamedTuple):
    """A measured all-reduce.

    Attributes
    ----------
    line
        Line in the file; in JSON the place among the results, from 1.
    size_mb
        Size in MB (10^6 bytes), the gradient's of (8).
    seconds
        Mean time.
    in_place
        Whether the result replaced the input.
    """

    line: int
    size_mb: float
    seconds: float
    in_place: bool


@dataclass(frozen=True)
class Run:
    """A run of `all_reduce_perf`.

    Attributes
    ----------
    source
        Name of the file.
    gpus
        Ranks, w of (8).
    servers
        Number of hosts of the ranks.
    messages
        All-reduces, in the file's order.
    """

    source: str
    gpus: int
    servers: int
    messages: tuple[Message, ...]


class Told(NamedTuple):
    """A measured all-reduce as its file tells it.

    Attributes
    ----------
    message
        The all-reduce.
    place
        Its place in the file.
    bus
        Its bus bandwidth in GB/s.
    seconds_off, bus_off
        Greatest error of its time and of its bus bandwidth by the rounding to the digits printed.
    """

    message: Message
    place: str
    bus: float
    seconds_off: float = 0.0
    bus_off: float = 0.0


class Device(NamedTuple):
    """A GPU of a rank.

    Attributes
    ----------
    place
        Its place in the file.
    rank
        The rank.
    host
        Its host.
    address
        Its address on the host, by which two ranks on one host differ.
    """

    place: str
    rank: int
    host: str
    address: str


class Found(NamedTuple):
    """The content of a run's file.

    Attributes
    ----------
    hosts
        Host of each rank.
    groups
        Groups of ranks that ran at the same time.
    messages
        All-reduces, in the file's order.
    devices
        GPUs of ranks, as far as the file has their addresses.
    """

    hosts: dict[int, str]
    groups: set[str]
    messages: list[Told]
    devices: tuple[Device, ...] = ()


def address_of(number: int | None, address: str) -> str:
    """The address of a GPU on its host.

    Older versions tell only its bus, which two GPUs of a large host can share; so its number counts
    too.
    """
    return f"[{address}]" if ":" in address else f"{number} [{address}]"


def problems_of_ring(found: Found) -> Iterator[Problem]:
    """Why ranks do not form one ring of two or more."""
    if len(found.groups) > 1:
        text = f"{len(found.groups)} groups at once, which contend; a run of one group is expected"
        yield Problem("", text)
    elif len(found.hosts) == 1:
        text = (
            "one rank; a ring has two or more: choose -g 2 or more, and several servers need "
            "nccl-tests built with MPI=1"
        )
        yield Problem("", text)


def equal_hosts(found: Found) -> Iterator[Problem]:
    """Why hosts of one name are several: two ranks there have a GPU at the same address."""
    seen: dict[tuple[str, str], Device] = {}
    for device in found.devices:
        first = seen.setdefault((device.host, device.address), device)
        if first is not device:
            text = (
                f"ranks {first.rank} and {device.rank} both have the GPU {device.address} of host "
                f"{device.host!r}, so several hosts have this name; give each host or container a "
                "name of its own, here and in the other lines of ranks"
            )
            yield Problem(device.place, text)
            return


_OFF = 0.01
"""Part by which a bus bandwidth may differ from that of size and time, beside their rounding."""


def contradictions(found: Found) -> Iterator[Problem]:
    """Bus bandwidths that contradict size, time and ranks, for example of another collective.

    Each number may be off by its rounding: times from ten seconds on are printed as `1.5e+07`.
    """
    gpus = len(found.hosts)
    for message, place, told, seconds_off, bus_off in found.messages:
        ring = exchange_bits(message.size_mb, gpus) / 8e9
        low = ring / (message.seconds + seconds_off) * (1 - _OFF) - bus_off
        shortest = message.seconds - seconds_off
        high = ring / shortest * (1 + _OFF) + bus_off if shortest > 0 else math.inf
        if not low <= told <= high:
            text = (
                f"busbw {told:g} GB/s; size, time and {gpus} ranks give "
                f"{ring / message.seconds:.2f}, as a ring's all-reduce has: another collective or "
                "NCCL_ALGO=NVLS?"
            )
            yield Problem(place, text)
            return


def refined(found: Found) -> list[Message]:
    """The all-reduces; times of few digits give way to those that their bus bandwidths tell.

    In `1.5e+07` a time is rounded by up to 3 %, and the bus bandwidth beside it often by less.
    """
    gpus = len(found.hosts)
    messages = []
    for message, _, told, seconds_off, bus_off in found.messages:
        seconds = message.seconds
        if seconds_off > _OFF * seconds and bus_off * seconds < seconds_off * told:
            ring = exchange_bits(message.size_mb, gpus) / 8e9
            seconds = min(max(ring / told, seconds - seconds_off), seconds + seconds_off)
        messages.append(message._replace(seconds=seconds))
    return messages
