"""Nodes with GPUs as Slurm tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rarmodel.errors import Problem
from rarmodel.workloads.gres import gpus_of_gres, has_slices, slices_of_gres
from rarmodel.workloads.table_cells import CellError

from .gpu_parts import division_of, shared_gpus
from .records import lines
from .slurm_values import value

# A node that is powered down is started for a job; one in maintenance is so until its reservation
# ends.
_AWAY = re.compile(
    r"\*|(?:^|\+)(?:DOWN|DRAIN|FAIL|ERROR|UNKNOWN|INVAL|REBOOT|POWERING_DOWN|POWER_DOWN|NOT_RESP)"
)


class Node(NamedTuple):
    """A node with GPUs.

    Attributes
    ----------
    gpus, gpu_type
        Number of GPUs, and their type; empty if unknown.
    used
        Number of GPUs that jobs hold, also jobs that Slurm does not show, and jobs of shares.
    cpus, memory_mb
        Processors, and memory in MB (2^20 bytes, as Slurm counts).
    features
        Features for constraints.
    away
        Why it takes no jobs; empty if it does.
    part, slices
        What Slurm calls the equal parts of its GPUs, `shard` or the type of a slice (MIG), and how
        many of them a GPU has; empty and 1 if jobs get whole GPUs only.
    used_slices
        Slices that jobs hold, where `part` is the type of a slice.
    is_sliced
        Whether it has slices, also beside whole GPUs. Slurm gives both to a job of no type.
    """

    name: str
    gpus: int
    gpu_type: str
    used: int
    cpus: int
    memory_mb: int
    features: frozenset[str]
    away: str
    part: str = ""
    slices: int = 1
    used_slices: int = 0
    is_sliced: bool = False


def nodes_in(
    text: str, unequal: dict[str, str], problems: list[Problem]
) -> Iterator[tuple[str, Node]]:
    """The nodes with GPUs by name.

    Parameters
    ----------
    text
        What `scontrol -o -d show node` prints.
    unequal
        Gets the parts of GPUs that are left out, by node, and why.
    problems
        Gets the nodes that cannot be read.
    """
    for line in lines(text, "NodeName", ("State", "Gres", "CPUTot")):
        record = line.values
        try:
            divided, used = division_of(record), gpus_of_gres(value(record, "GresUsed"), "GresUsed")
            cpus, memory = int(record.get("CPUTot", "")), int(record.get("RealMemory", "0"))
        except (CellError, ValueError):
            problems.append(Problem(f"node {line.name!r}", "not as scontrol shows a node"))
            continue
        state = record["State"]
        if divided.unequal and "FUTURE" not in state:
            unequal[line.name] = divided.unequal
        if not divided.gpus or "FUTURE" in state:
            continue
        away = ""
        if _AWAY.search(state):
            away = f"{state}: {value(record, 'Reason')}".removesuffix(": ")
        yield (
            line.name,
            Node(
                name=line.name,
                gpus=divided.gpus,
                gpu_type=divided.gpu_type,
                used=sum(used.values()) + len(shared_gpus(record)),
                cpus=cpus,
                memory_mb=memory,
                features=frozenset(value(record, "ActiveFeatures").split(",")),
                away=away,
                part=divided.part,
                slices=divided.slices,
                used_slices=slices_of_gres(value(record, "GresUsed"), "GresUsed").get(
                    divided.part, 0
                ),
                is_sliced=has_slices(value(record, "Gres")),
            ),
        )
