"""Measurements made with the model, and output as nccl-tests prints it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rarmodel.calibration import Measurement
from rarmodel.errors import InputError
from rarmodel.model import (
    exchange_bits,
    iteration_seconds,
    overhead_seconds,
    reduction_seconds,
)
from rarmodel.model.sharing_rule import COUNT
from rarmodel.schema import Contention

NETWORK, INTRA, REDUCTION = 10.0, 100.0, 400.0
RATES = {"network_gbps": NETWORK, "intra_server_gbps": INTRA, "reduction_gbps": REDUCTION}


def contention(concurrency: float, alpha: float, overhead: float) -> Contention:
    """Constants of contention as a record."""
    return Contention.model_validate(
        {
            "concurrency": concurrency,
            "degradation": {"kind": "linear", "alpha": alpha},
            "overhead_ms_per_server": overhead,
        }
    )


def iteration_ms(
    constants: Contention,
    *,
    gpus: int,
    servers: int,
    rings: int,
    gradient_mb: float,
    compute_ms: float,
) -> float:
    """Equation (8), one number at a time."""
    gbps = INTRA if servers == 1 else COUNT.share(constants, NETWORK, rings - 1)
    return 1e3 * iteration_seconds(
        exchange_bits(gradient_mb, gpus),
        gbps,
        0.0,
        reduction_seconds(gradient_mb, gpus, REDUCTION),
        overhead_seconds(constants.overhead_ms_per_server, servers),
        compute_ms * 1e-3,
        1.0,
    )


def measured(
    constants: Contention,
    placements: Sequence[tuple[int, int, int]],
    *,
    gradient_mb: float = 100.0,
    compute_ms: float = 50.0,
    known: bool = True,
    noise: Callable[[], float] = lambda: 1.0,
    **fields: Any,
) -> list[Measurement]:
    """A job in placements, each of GPUs, servers and rings on its link, as the model has it."""
    rows = []
    for gpus, servers, rings in placements:
        time = iteration_ms(
            constants,
            gpus=gpus,
            servers=servers,
            rings=rings,
            gradient_mb=gradient_mb,
            compute_ms=compute_ms,
        )
        rows.append(
            Measurement.model_validate(
                {
                    "job": "job",
                    "gpus": gpus,
                    "servers": servers,
                    "concurrent_jobs": rings,
                    "gradient_mb": gradient_mb,
                    "compute_ms": compute_ms if known else None,
                    "iteration_ms": time * noise(),
                    **fields,
                }
            )
        )
    return rows


def table_of(constants: Contention, placements: Sequence[tuple[int, int, int]]) -> str:
    """The table of measurements that the constants explain, as CSV."""
    rows = [row.model_dump(exclude_none=True) for row in measured(constants, placements)]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    return "\n".join(lines) + "\n"


SIZES = tuple(2**n for n in range(20, 31))
RESULT = "{time:>8}  {algbw:>6.2f}  {busbw:>6.2f}  {wrong:>5}"
HEADERS = {
    "2025": "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
    "     time   algbw   busbw  #wrong",
    "2020": "#       size         count    type   redop     time   algbw   busbw  error"
    "     time   algbw   busbw  error",
    "2018": "#      bytes             N    type      op     time  algbw  busbw      res"
    "     time  algbw  busbw      res",
}
FORMS = tuple(HEADERS)


def time_text(seconds: float) -> str:
    """A time in microseconds with as many digits as nccl-tests prints."""
    micros = seconds * 1e6
    return (
        f"{micros:.0f}" if micros >= 1e4 else f"{micros:.1f}" if micros >= 100 else f"{micros:.2f}"
    )


def nccl_output(
    *,
    servers: int = 2,
    gpus: int = 8,
    gbps: float = 80.0,
    sizes: Sequence[int] = SIZES,
    latency: float = 0.0,
    form: str = "2025",
    wrong: str = "0",
    mark: str = "",
    faster_in_place: float = 1.0,
) -> str:
    """What `all_reduce_perf` prints for a ring of that many Gbit/s, in the form of a year."""
    old = form == "2018"
    start = "nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5"
    lines = [start if old else f"# {start}", "#", "# Using devices"]
    if form == "2025":
        lines.insert(0, "# Collective test starting: all_reduce_perf")
    for rank in range(gpus):
        group = {
            "2025": f"Group  0 Pid   {4100 + rank}",
            "2020": f"Pid   {4100 + rank}",
            "2018": "",
        }
        host = f"node{rank * servers // gpus}"
        lines.append(f"#  Rank {rank:2} {group[form]} on {host:>10} device {rank:2} [0x1a] A100")
    lines += ["node0:4100:4100 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>", "#"]
    lines += ["#              out-of-place                       in-place", HEADERS[form]]
    if form != "2018":
        lines.append("#        (B)    (elements)                     (us)  (GB/s)  (GB/s)")
    for size in sizes:
        row = f"{size:>12}  {size // 4:>12}  {'float':>8}  {'sum':>6}"
        row += "      -1" if form == "2025" else ""
        for factor in (1.0, faster_in_place):
            # What a GPU alone takes is the time of a copy, and no bandwidth of a ring.
            bits = exchange_bits(size * 1e-6, gpus) or size
            seconds = latency + bits / (gbps * factor * 1e9)
            algbw = size / 1e9 / seconds
            row += "  " + RESULT.format(
                time=time_text(seconds),
                algbw=algbw,
                busbw=algbw * 2 * (gpus - 1) / gpus,
                wrong=wrong,
            )
        lines.append(row)
    lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 8.1", "#"]
    return "".join(f"{mark}{line}\n" for line in lines)


def refused(call: Callable[[str], object], path: Path, content: str | bytes) -> list[str]:
    """Lines of the refusal of a file of that content, without the file's name."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        call(str(path))
    lines = caught.value.lines()
    assert all(line.startswith(f"{path}: ") and "\n" not in line for line in lines)
    return [line.removeprefix(f"{path}: ") for line in lines]
