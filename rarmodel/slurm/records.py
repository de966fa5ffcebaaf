"""Records of `scontrol -o`: one line of `Key=Value` pairs each.

Slurm does not quote values, and users choose some of them: names, comments, paths. A name may hold
blanks, line breaks and text that looks like other keys. So only known keys end a value, and a
record is refused rather than believed if it lacks a key, has one twice, or has one that says whose
job it is or what it holds in a place that users fill.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

Record = Mapping[str, str]
"""Values by key."""

_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:.]*)=")

_REPEATED = {"Nodes", "CPU_IDs", "Mem", "GRES"}
"""Keys of a job's allocation, which `-d` gives once for each group of nodes."""

_NUMBERS = {"ArrayJobId", "ArrayTaskId", "ArrayTaskThrottle", "HetJobId", "HetJobOffset"}
"""Keys by which a job is part of another; Slurm gives them before its name."""

_ASKED = {"MinCPUsNode", "Features", "Command"}
"""Keys of what a job asks for; at least one of them is in every job's record."""

_KNOWN = frozenset(
    re.findall(
        r"\S+",
        """
    JobId ArrayJobId ArrayTaskId ArrayTaskThrottle HetJobId HetJobOffset HetJobIdSet JobName
    UserId GroupId MCS_label Priority Nice Account QOS WCKey JobState Reason FailedNode
    Dependency Requeue Restarts BatchFlag Reboot ExitCode DerivedExitCode RunTime TimeLimit
    TimeMin SubmitTime EligibleTime AccrueTime StartTime EndTime Deadline PreemptEligibleTime
    PreemptTime SuspendTime SecsPreSuspend LastSchedEval Scheduler Partition AllocNode:Sid
    ReqNodeList ExcNodeList NodeList BatchHost SchedNodeList NumNodes NumCPUs NumTasks CPUs/Task
    ReqB:S:C:T TRES ReqTRES AllocTRES Socks/Node NtasksPerN:B:S:C CoreSpec ThreadSpec JOB_GRES
    Nodes CPU_IDs Mem GRES MinCPUsNode MinMemoryNode MinMemoryCPU MinTmpDiskNode Features
    Reservation DelayBoot OverSubscribe Contiguous Licenses LicensesAlloc Network Command
    Comment AdminComment SystemComment Extra WorkDir StdErr StdIn StdOut Power Switches
    BatchFeatures Container ContainerID CpusPerTres MemPerTres TresBind TresFreq TresPerJob
    TresPerNode TresPerSocket TresPerTask MailUser MailType NtasksPerTRES SiteFactor SLUID
    SegmentSize ResvPorts GresAllocNode BurstBuffer PrefFeatures OOMKillStep Cluster NodeName
    Arch CoresPerSocket CPUAlloc CPUEfctv CPUTot CPULoad AvailableFeatures ActiveFeatures Gres
    GresDrain GresUsed NodeAddr NodeHostName Port Version OS RealMemory AllocMem FreeMem Sockets
    Boards State ThreadsPerCore TmpDisk Weight Owner Partitions BootTime SlurmdStartTime
    LastBusyTime ResumeAfterTime CfgTRES CapWatts CurrentWatts AveWatts ExtSensorsJoules
    ExtSensorsWatts ExtSensorsTemp CpuSpecList CoreSpecCount MemSpecLimit NextState
    ReservationName Duration NodeCnt CoreCnt PartitionName Flags Users Groups Accounts Watts
    MaxStartDelay AllowGroups AllowAccounts AllowQos DenyAccounts DenyQos AllocNodes Default QoS
    DefaultTime DisableRootJobs ExclusiveUser ExclusiveTopo GraceTime Hidden MaxNodes MaxTime
    MinNodes LLN MaxCPUsPerNode MaxCPUsPerSocket NodeSets PriorityJobFactor PriorityTier
    RootOnly ReqResv OverTimeLimit PreemptMode TotalCPUs TotalNodes SelectTypeParameters
    JobDefaults DefMemPerNode MaxMemPerNode DefMemPerCPU MaxMemPerCPU TRESBillingWeights
    Alternate CpuBind ResumeTimeout SuspendTimeout SwitchName Level LinkSpeed BlockName
    """,
    )
)
"""Keys of Slurm 20 to 25; of any other key the text stays part of the value before."""

LICENCE_KEYS = frozenset(
    (
        *("LicenseName", "Total", "Used", "Free", "Reserved", "Remote"),
        *("LastConsumed", "LastDeficit", "LastUpdate"),
    )
)
"""Keys of licences, which stand apart: users may write `Total=` into names of jobs."""


class Line(NamedTuple):
    """A line of output.

    Attributes
    ----------
    name
        Value of the first key, such as a job's number.
    values
        Value of each key, the first where an allocation repeats it; empty if it cannot be trusted.
    pairs
        All keys and values in order.
    """

    name: str
    values: Record
    pairs: tuple[tuple[str, str], ...]


def lines(
    text: str,
    first: str,
    needed: tuple[str, ...] = (),
    keys: frozenset[str] = _KNOWN,
) -> list[Line]:
    """The records of an output.

    Parameters
    ----------
    text
        The output.
    first
        The key with which a record begins; other lines are skipped.
    needed
        Keys without which a record cannot be trusted.
    keys
        Keys that end the value before them.
    """
    found = []
    for line in text.split("\n"):
        if not line.startswith(f"{first}="):
            continue
        found_keys = [one for one in _PAIR.finditer(line) if one[1] in keys]
        ends = [one.start() for one in found_keys[1:]] + [len(line)]
        pairs = tuple(
            (one[1], line[one.end() : end].strip())
            for one, end in zip(found_keys, ends, strict=True)
        )
        counts = Counter(key for key, _ in pairs if key not in _REPEATED)
        sound = max(counts.values()) == 1 and {*needed} <= {key for key, _ in pairs}
        sound = sound and (first != "JobId" or _is_in_order([key for key, _ in pairs]))
        found.append(Line(pairs[0][1], dict(reversed(pairs)) if sound else {}, pairs))
    names = Counter(line.name for line in found)
    return [line if names[line.name] == 1 else line._replace(values={}) for line in found]


def _is_in_order(keys: list[str]) -> bool:
    """Whether the keys of a job that nobody may forge are where Slurm puts them.

    Slurm tells the user right after the name (or the set of a heterogeneous job), and what a job
    holds after its state and before what it asks of a node. Names, accounts, paths and comments,
    which users fill, are elsewhere.
    """
    asked = [place for place, key in enumerate(keys) if key in _ASKED]
    if not asked or not {"JobName", "UserId", "JobState"} <= {*keys}:
        return False
    name, state = keys.index("JobName"), keys.index("JobState")
    return keys[name + 1] in {"UserId", "HetJobIdSet"} and all(
        place < name if key in _NUMBERS else key not in _REPEATED or state < place < asked[0]
        for place, key in enumerate(keys)
    )
