"""Values as Slurm writes them: moments, lengths of time, GPUs, memory."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from rarmodel.workloads.gpu_divisions import MIG
from rarmodel.workloads.gres import gpus_of_gres
from rarmodel.workloads.slurm import expand
from rarmodel.workloads.table_cells import CellError
from rarmodel.workloads.table_cells import duration as seconds_in

from .records import Record

_NONE = {"(null)", "N/A", "n/a", "None", "none", "Unknown", "NONE"}
_UNITS = {"": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "K": 1 / 1024}


def value(record: Record, key: str) -> str:
    """A value; empty if it is missing, or one of Slurm's words for none."""
    text = record.get(key, "")
    return "" if text in _NONE else text


def whole_number(record: Record, key: str) -> int:
    """The whole number with which a value begins; 0 if there is none."""
    found = re.match(r"\d+", record.get(key, ""))
    return int(found[0]) if found else 0


def moment(text: str) -> datetime | None:
    """A point in time as Slurm writes it, in UTC; None for words such as `Unknown`."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None


def seconds(text: str) -> float | None:
    """A length of time as Slurm writes it, `2-03:00:00`; None for words such as `UNLIMITED`."""
    try:
        return seconds_in({"": text}, "")
    except CellError:
        return None


def memory_mb(text: str) -> int:
    """Memory as Slurm writes it, such as `1.5G`, in MB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", text)
    return round(float(found[1]) * _UNITS[found[2]]) if found else 0


def gpus_in(text: str) -> dict[str, int]:
    """GPUs by type in a request such as `gres:gpu:4` or `gres/gpu:h100=4`."""
    return gpus_of_gres(re.sub(r"gres[:/]gpu", "gpu", text).replace("=", ":"), "GPUs")


def per_gpu(record: Record, key: str) -> int:
    """What goes with each GPU, such as 6 in `CpusPerTres=gres:gpu:6`; 0 if nothing does."""
    try:
        return sum(gpus_in(value(record, key)).values())
    except CellError:
        return 0


def hosts(text: str) -> list[str]:
    """The names of a host list; none if it is not one."""
    try:
        return expand(text)
    except ValueError:
        return []


def indices(gres: str, names: tuple[str, ...] = ("gpu",)) -> list[int]:
    """Indices of whole GPUs in `gpu:h100:3(IDX:0-2)`, or of another resource; not of slices."""
    return [
        index
        for kind, numbers in re.findall(r"([^(,]+)(?:\(null\)[^(,]*)?\(IDX:([0-9,-]+)\)", gres)
        if kind.split(":")[0] in names and not MIG.search(kind)
        for index in spans(numbers)
    ]


def spans(text: str) -> list[int]:
    """The numbers of `0-2,5`."""
    pairs = (piece.partition("-") for piece in text.split(",") if piece)
    return [
        index for first, _, last in pairs for index in range(int(first), int(last or first) + 1)
    ]
