"""Jobs as Slurm tells them: whose they are, what they hold, what they ask for."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from rarmodel.workloads.gres import SHARD, has_parts
from rarmodel.workloads.table_cells import CellError

from .gpu_parts import HeldPart, parts_in, shards_asked, slices_asked
from .records import Line, Record
from .slurm_values import (
    gpus_in,
    hosts,
    indices,
    memory_mb,
    moment,
    per_gpu,
    seconds,
    value,
    whole_number,
)

MARK = "rarmodel"
"""First word of the comment of the jobs that rarmodel may touch."""
HOLDING = {
    *("RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "RESIZING", "SIGNALING"),
    *("STOPPED", "STAGE_OUT"),
}
"""States in which a job has GPUs."""
ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT"),
}
"""States in which a job is over; Slurm tells of it for some minutes more."""
GPU_KEYS = ("TresPerNode", "TresPerJob", "TresPerTask")
"""Keys of the GPUs that a job asks for."""
MOST_TASKS = 100_000
"""Most tasks of one array."""
NEEDED = ("UserId", "JobState", "Partition", "SubmitTime", "NumNodes", "NumCPUs")
"""Keys without which a job's record cannot be trusted."""


class SlurmJob(NamedTuple):
    """A job, or one task of an array.

    Attributes
    ----------
    id
        Number in Slurm, such as `12`, or `12_3` for a task of an array.
    record
        All values that Slurm tells.
    held
        Indices of the GPUs that it holds, by node: whole ones, or with `slices` parts of them.
    parts
        Parts of GPUs that it holds, by node, as Slurm tells them.
    part, slices
        What Slurm calls the parts in `held`, and how many of each GPU it has; empty and 0 if these
        are whole.
    """

    id: str
    record: Record
    held: Mapping[str, tuple[int, ...]]
    parts: Mapping[str, HeldPart] = MappingProxyType({})
    part: str = ""
    slices: int = 0

    @property
    def state(self) -> str:
        """State, such as `PENDING`."""
        return self.record["JobState"]

    @property
    def user(self) -> str:
        """Name of the user."""
        return self.record["UserId"].rpartition("(")[0]

    @property
    def uid(self) -> int | None:
        """Number of the user; None if it is not told."""
        return user_number(self.record["UserId"])

    @property
    def is_held(self) -> bool:
        """Whether it waits for its release."""
        return self.state == "PENDING" and self.record.get("Priority") == "0"

    @property
    def is_held_by_operator(self) -> bool:
        """Whether only an operator may release it."""
        return self.is_held and value(self.record, "Reason") == "JobHeldAdmin"

    @property
    def is_held_by_slurm(self) -> bool:
        """Whether it was requeued and held, as after a launch that failed."""
        reason = value(self.record, "Reason").lower()
        return self.is_held and ("requeue" in reason or "launch" in reason)

    @property
    def is_marked(self) -> bool:
        """Whether its comment lets rarmodel touch it."""
        return value(self.record, "Comment").split(" ")[0].split("{")[0] == MARK

    @property
    def priority(self) -> int:
        """Slurm's priority; 0 if it is held."""
        return whole_number(self.record, "Priority")

    @property
    def partitions(self) -> list[str]:
        """The partitions that it may run in, one of them."""
        return self.record["Partition"].split(",")

    @property
    def nodes(self) -> list[str]:
        """The nodes that it has, or that it asks for by name while it waits."""
        key = "ReqNodeList" if self.state == "PENDING" else "NodeList"
        return hosts(value(self.record, key))

    @property
    def gpu_type(self) -> str:
        """The type of GPU that it asks for; empty if any will do, or it asks for several."""
        texts = [value(self.record, key) for key in GPU_KEYS]
        try:
            kinds = {kind for text in texts for kind in (*gpus_in(text), *slices_asked(text))}
        except CellError:
            return ""
        return kinds.pop() if len(kinds) == 1 else ""

    @property
    def counted_gpus(self) -> int:
        """How many GPUs that it holds Slurm counts: a slice is one, a shard is none."""
        parts = sum(one.number for one in self.parts.values() if one.part != SHARD)
        return parts + sum(map(len, self.held.values())) * (self.slices == 0)

    @property
    def tasks_per_node(self) -> int:
        """Tasks on each node; 0 if it does not say."""
        return whole_number(self.record, "NtasksPerN:B:S:C")

    def moment(self, key: str) -> datetime | None:
        """A point in time; None if it is unknown."""
        return moment(value(self.record, key))

    def seconds(self, key: str) -> float | None:
        """A length of time in seconds; None if it is unknown or unlimited."""
        return seconds(value(self.record, key))


def holds_parts(job: SlurmJob) -> bool:
    """Whether it asks for parts of GPUs: slices, or shares."""
    return any(has_parts(value(job.record, key)) for key in GPU_KEYS)


def holds_shards(job: SlurmJob) -> bool:
    """Whether it asks for shards of GPUs."""
    return any(shards_asked(value(job.record, key)) for key in GPU_KEYS)


def counted_by_slurm(job: SlurmJob, gpus: int) -> int:
    """As how many Slurm counts so many GPUs of a job: each slice is one, and shards are none."""
    if not holds_parts(job):
        return gpus
    texts = [value(job.record, key) for key in GPU_KEYS]
    return gpus * sum(sum(slices_asked(text).values()) for text in texts)


def user_number(text: str) -> int | None:
    """The number in a user such as `alice(1000)`."""
    found = re.search(r"\((\d+)\)$", text)
    return int(found[1]) if found else None


def nodes_of(job: SlurmJob) -> int:
    """The number of nodes of a job, the least if it asks for a range."""
    return max(1, whole_number(job.record, "NumNodes"))


def cpus_per_node(job: SlurmJob, nodes: int, gpus: int = 0) -> int:
    """Processors that it takes of each of so many nodes, with so many GPUs on each."""
    evenly = -(-whole_number(job.record, "NumCPUs") // nodes)
    by_gpus = gpus * per_gpu(job.record, "CpusPerTres")
    return max(evenly, whole_number(job.record, "MinCPUsNode"), by_gpus)


def memory_per_node(job: SlurmJob, nodes: int, gpus: int = 0) -> int:
    """Memory in MB that it takes of each of so many nodes, with so many GPUs on each."""
    if text := value(job.record, "MinMemoryCPU"):
        return memory_mb(text) * cpus_per_node(job, nodes, gpus)
    by_gpus = gpus * per_gpu(job.record, "MemPerTres")
    return max(by_gpus, memory_mb(value(job.record, "MinMemoryNode")))


def number_of(line: Line) -> tuple[str, str, str]:
    """Numbers of a job, of its array (or its own) and of its user, as `squeue` tells them."""
    user = user_number(line.values.get("UserId", ""))
    return line.name, line.values.get("ArrayJobId", line.name), str(user)


def jobs_of(line: Line, nodes: Container[str]) -> Iterator[SlurmJob]:
    """The job of a record, or each task of an array; none if it cannot be trusted."""
    record = line.values
    if not record or not line.name.isdigit():
        return
    if not all(re.fullmatch(r"\d+(-\d+)?", record[key]) for key in ("NumNodes", "NumCPUs")):
        return
    held, parts = _held(line, nodes)
    array, tasks = record.get("ArrayJobId", ""), record.get("ArrayTaskId", "")
    if not array:
        yield SlurmJob(line.name, record, held, parts)
    elif array.isdigit():
        for number in _numbers(tasks.partition("%")[0]):
            yield SlurmJob(f"{array}_{number}", record, held, parts)


def _numbers(tasks: str) -> Sequence[int]:
    """Numbers of the tasks `1-3,7` or `0-20:4` of an array; none if they are too many or odd."""
    if by := re.fullmatch(r"(\d+)-(\d+):([1-9]\d*)", tasks):
        found: Sequence[int] = range(int(by[1]), int(by[2]) + 1, int(by[3]))
    else:
        found = [int(number) for number in hosts(f"[{tasks}]")]
    return found if len(found) <= MOST_TASKS else ()


def _held(
    line: Line, nodes: Container[str]
) -> tuple[dict[str, tuple[int, ...]], dict[str, HeldPart]]:
    """GPUs of an allocation: `Nodes=node[1-2] CPU_IDs=0 Mem=0 GRES=gpu:h100:3(IDX:0-2)`.

    And the parts of GPUs.
    """
    held, parts = dict[str, tuple[int, ...]](), dict[str, HeldPart]()
    group: list[str] = []
    for key, text in line.pairs:
        if key == "Nodes":
            group = hosts(text)
        elif key == "GRES":
            gpus, of_gpus = tuple(indices(text)), parts_in(text)
            held |= {name: gpus for name in group if name in nodes and gpus}
            parts |= {name: of_gpus[0] for name in group if of_gpus}
    return held, parts
