"""Rates of the cluster from runs of nccl-tests: `b^e` between servers, `b^i` within one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rarmodel.errors import InputError, Problem
from rarmodel.model import exchange_bits, iteration_seconds, reduction_seconds

from .run import Message, Run

DEFAULT_SPAN = (16.0, math.inf)
"""Sizes in MB to use: small messages are dominated by latency, which (8) does not have."""


@dataclass(frozen=True)
class Bandwidth:
    """A measured rate.

    Attributes
    ----------
    name
        `network_gbps` or `intra_server_gbps`.
    gbps
        The rate in Gbit/s: least squares of the logarithms of the messages' times.
    low, high
        Rates of the slowest and the fastest message.
    messages
        Messages used, each with its run.
    """

    name: str
    gbps: float
    low: float
    high: float
    messages: tuple[tuple[Run, Message], ...]

    def seconds(self, run: Run, message: Message, reduction_gbps: float) -> float:
        """Time of an all-reduce by (8), with the rate of all messages together."""
        reduction = reduction_seconds(message.size_mb, run.gpus, reduction_gbps)
        bits = exchange_bits(message.size_mb, run.gpus)
        return iteration_seconds(bits, self.gbps, 0.0, reduction, 0.0, 0.0, 1.0)


def bandwidths(
    runs: Sequence[Run], span: tuple[float, float], reduction_gbps: float
) -> tuple[Bandwidth, ...]:
    """The rates that runs measure: `b^e` from runs on several servers, `b^i` from runs on one.

    Parameters
    ----------
    runs
        Runs of nccl-tests.
    span
        Least and greatest size in MB of the messages to use.
    reduction_gbps
        Rate of the reduction, C, whose time is part of the measured time; infinite for none.

    Raises
    ------
    InputError
        If a run has no message of such a size, or the reduction alone takes longer than a message.
    """
    problems: list[Problem] = []
    found: dict[str, list[tuple[Run, Message, float]]] = {}
    for run in runs:
        name = "network_gbps" if run.servers > 1 else "intra_server_gbps"
        counting = [m for m in run.messages if span[0] <= m.size_mb <= span[1]]
        if not counting:
            sizes = [message.size_mb for message in run.messages]
            text = (
                f"no message of {span[0]:g} to {span[1]:g} MB; "
                f"the sizes are {min(sizes):.4g} to {max(sizes):.4g} MB"
            )
            problems.append(Problem(run.source, text))
        for message in counting:
            reduction = reduction_seconds(message.size_mb, run.gpus, reduction_gbps)
            left = message.seconds - reduction
            if left <= 0:
                text = (
                    f"the reduction alone takes longer at {reduction_gbps:g} Gbit/s; "
                    f"reduction_gbps above {reduction * reduction_gbps / message.seconds:.6g} "
                    "is expected"
                )
                problems.append(Problem(f"{run.source}: line {message.line}", text))
                break
            gbps = exchange_bits(message.size_mb, run.gpus) / left / 1e9
            found.setdefault(name, []).append((run, message, gbps))
    if problems:
        raise InputError(problems)
    return tuple(_together(name, results) for name, results in sorted(found.items(), reverse=True))


def _together(name: str, results: Sequence[tuple[Run, Message, float]]) -> Bandwidth:
    rates = [gbps for _, _, gbps in results]
    mean = math.exp(math.fsum(map(math.log, rates)) / len(rates))
    messages = tuple((run, message) for run, message, _ in results)
    return Bandwidth(name, float(f"{mean:.6g}"), min(rates), max(rates), messages)
