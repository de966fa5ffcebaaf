"""A run of nccl-tests: ranks, times of messages, and checks that they form one ring."""

from __future__ import annotations

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
    """A measured all-reduce, its place in the file, and its bus bandwidth there in GB/s."""

    message: Message
    place: str
    bus: float


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
    """

    hosts: dict[int, str]
    groups: set[str]
    messages: list[Told]


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


def contradictions(found: Found) -> Iterator[Problem]:
    """Bus bandwidths that contradict size, time and ranks, for example of another collective.

    The tolerance covers rounding to two decimals, and of the time to four digits.
    """
    gpus = len(found.hosts)
    for message, place, told in found.messages:
        bus = exchange_bits(message.size_mb, gpus) / 8e9 / message.seconds
        if abs(bus - told) > 0.0051 + 0.01 * bus:
            text = (
                f"busbw {told:g} GB/s; size, time and {gpus} ranks give {bus:.2f}, as a ring's "
                "all-reduce has: another collective or NCCL_ALGO=NVLS?"
            )
            yield Problem(place, text)
            return
