"""An instance as flat arrays for compiled code, and the state of a running simulation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.model import timing
from rarmodel.model.link_shares import best_share, sensitivities, sensitivity_classes
from rarmodel.model.plain_paces import columns
from rarmodel.model.sharing_rule import pressure_of, pressure_units, sharing_rule
from rarmodel.model.topology import topology
from rarmodel.schema import Instance

from .gpu_loads import GpuLoads, SharedGpus, new_loads, shared_gpus
from .modes import rates_within, rows_of

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.uint32]
"""What indexes other arrays is never negative: compiled code then need not ask whether it is."""
Floats = npt.NDArray[np.float64]
Records = npt.NDArray[np.void]

NEVER = 2**62
"""Completion time of a job that does not complete."""
OVERFULL, STUCK, CUT_OFF = -1, -2, -3
"""Why an evaluation gave no makespan: a server holds more workers than it has GPUs; some job
never completes; the makespan exceeds the limit."""
NOWHERE = 2**32 - 1
"""Place in the heap of a ring that is not in it."""
UNKNOWN = -1.0
"""Bandwidth of a ring whose links must be gone through."""

NORM_PARTS = 1024
"""Parts of a second in `Arrays.norm`."""

BY_COUNT, BY_LOAD, BY_RING, BY_CLASS, BY_RING_AND_CLASS = range(5)
"""How rings share a link: equally, by their number; by the load of the others, where all links have
one rate; by this load, where each ring must look at the rate of each of its links. The last two are
the same as the two before where a link has several loads, one for each sensitivity of rings."""
NOW, SETTLED = range(2)
"""Rows of `State.load`."""
ROOM = 2.0**52
"""Greater than any load: `ROOM − load` orders links as shares do, and is exact."""

JOB = np.dtype(
    [
        ("gpus", np.int64),  # G_j
        ("iterations", np.int64),  # F_j
        ("bits", np.float64),  # that a worker exchanges in an iteration
        ("reduction", np.float64),  # seconds in an iteration
        ("compute", np.float64),  # seconds of forward and backward pass in an iteration
        ("latency", np.float64),  # seconds of latency in an iteration
        ("column", np.int64),  # class of its ring, by its sensitivity
    ]
)
"""What a job is in one of its modes: ring size, slowest type of GPU, rate within its server."""

RING = np.dtype(
    [
        ("remaining", np.int64),  # iterations to do at slot `since`
        ("since", np.int64),  # slot of the last change of speed
        ("speed", np.int64),  # iterations per slot since then, φ_j
        ("finish", np.int64),  # completion time if nothing changes; NEVER while the speed is 0
        ("bandwidth", np.float64),  # with the changes collected so far, or UNKNOWN
        ("settled", np.float64),  # the same when speeds were last right, B_j
        ("mode", np.uint32),  # which of `Arrays.modes` it is in
        ("servers", np.uint32),  # number of servers used
        ("links", np.uint32),  # number of links used
        ("heap_at", np.uint32),  # place in the heap, or NOWHERE
    ],
    align=True,
)
"""State of a job's ring; of a ring on one server only the last five matter, and `finish`.

Bandwidths are in Gbit/s, but BY_LOAD and BY_CLASS they are the least `ROOM − load` of its links.
"""

COMPLETION = np.dtype([("finish", np.int64), ("job", np.uint32)], align=True)
"""Entry of the heap: when a job completes."""

LINK = np.dtype(
    [
        ("share", np.float64),  # what each ring got when speeds were last right
        ("row", np.uint32),  # where its row begins, `Arrays.row_at`
        ("rings", np.uint32),  # that use it now, p_ℓ
        ("changed", np.uint32),  # 1 if `rings` changed since speeds were last right
        ("below", np.uint32),  # scratch: workers of one ring below it
    ],
    align=True,
)
"""State of a link. A share is in Gbit/s BY_COUNT, and `ROOM − load` with one class."""

MEMBER = np.dtype([("link", np.uint32), ("at", np.uint32)])
"""A ring uses a link: which one, and the place of the ring in the link's row."""

PLACE = np.dtype([("job", np.uint32), ("member", np.uint32)])
"""The same as the link sees it: which ring, and which of `State.members` says so."""


KNOWN = np.dtype(
    [
        ("gbps", np.float64),  # bandwidth of a ring when alone
        ("mode", np.uint32),  # its mode
        ("servers", np.uint32),  # number of its servers; 0 if nothing is known
        ("duty", np.int64),  # what it counts then
    ],
    align=True,
)
"""The last duty of a job's ring, and what it follows from."""


class Arrays(NamedTuple):
    """What an evaluation needs to know of an instance; nothing here changes.

    Ragged tables are one flat array and an array of offsets: row i of `path` is
    `path[path_at[i]:path_at[i + 1]]`.
    """

    slot_seconds: float
    """Length of a slot in seconds."""
    overhead_ms_per_server: float
    """Milliseconds that each server used adds to an iteration, ξ2."""
    intra_gbps: float
    """Bandwidth within a server in Gbit/s, b^i."""
    modes: Records
    """(modes) of `JOB`. Where jobs have one mode each, job j has mode j; else see `modes`."""
    server_gpus: Ints
    """(servers) GPUs of each server, O_s."""
    packed: Ints
    """(modes) Execution time in slots on one server; NEVER if the speed is 0 there."""
    path_at: Indices
    """(servers + 1) Offsets into `path`."""
    path: Indices
    """Links from each server up to the root."""
    member_at: Indices
    """(jobs + 1) Offsets of what `State.members` holds of each job's ring."""
    row_at: Indices
    """(links + 1) Offsets of each link's row in `share`, and of its list of rings."""
    share: Floats
    """Bandwidth in Gbit/s that each ring gets of a link, by the number of rings on it; unless
    rings are alike, the most that a ring can get beside so many."""
    sharing: int
    """BY_COUNT, BY_LOAD, and so on."""
    concurrency: float
    """ξ1."""
    alpha: float
    """Cost of each further ring beyond its share, α."""
    cards: Ints
    """(servers) Network cards of each server, n_s; empty if none has several."""
    overlap: float
    """How far the exchange overlaps with forward and backward pass, γ."""
    norm: Floats
    """Where it does: seconds of both, of which the longer takes one, and the other 0, 1, 2, … parts
    of a second; else empty. See `mode_speeds`."""
    gbps: Floats
    """(links) Rate of each link in Gbit/s."""
    classes: int
    """Different sensitivities of rings. A ring counts to each class with another weight, so weights
    and loads have a column for each; mostly there is one."""
    felt: Ints
    """(jobs × classes) Unless rings are alike: what the ring of a job with a pressure counts; for
    others `−1 − a'`, where a' is the sensitivity in billionths."""
    gpus: SharedGpus | None
    """GPUs that jobs may share; None if none may."""


class State(NamedTuple):
    """A simulation in progress, written to by the compiled code.

    That a ring uses a link is noted on both sides: the links of a ring stand together, and so do
    the rings of a link, in the link's row.
    """

    counters: Ints
    """Clock and sizes of the lists below; the indices are named in `kernel`."""
    rings: Records
    """(jobs) of `RING`."""
    changed_rings: Indices
    """(jobs) Rings that await a new speed."""
    heap: Records
    """(jobs) of `COMPLETION`: jobs that will complete, as a binary heap by `finish`."""
    links: Records
    """(links) of `LINK`."""
    changed_links: Indices
    """(links) Links whose number of rings changed since speeds were last right."""
    members: Records
    """Of `MEMBER`, ring by ring."""
    row: Records
    """(as `share`) of `PLACE`, link by link."""
    touched: Indices
    """(links) Scratch: links with workers of one ring below."""
    busy: Ints
    """(servers) GPUs of each server that are held."""
    duty: Ints
    """(jobs × classes) Unless rings are alike: what each ring on links counts there."""
    load: Ints
    """(2, links × classes) Unless rings are alike: the sum of what the rings on each link count,
    NOW; and with several classes, when speeds were last right, SETTLED."""
    known: Records
    """(jobs) of `KNOWN`, where exchange and passes overlap: powers are not taken once more."""
    reach: Floats
    """(jobs) The most in Gbit/s that network cards let each ring on links have; or empty."""
    gpus: GpuLoads | None
    """Who is on which GPU; None if no GPU is shared."""


def arrays_of(instance: Instance) -> Arrays:
    """Lay an instance out for compiled code."""
    tree = topology(instance.cluster)
    cluster, contention = instance.cluster, instance.contention
    wide = sum(job.sizes[-1] > 1 for job in instance.jobs)
    most_rings = [min(most, wide) for most in tree.most_rings]
    shared: dict[tuple[float, int], list[float]] = {}
    for link, most in zip(tree.links, most_rings, strict=True):
        if (link.gbps, most) not in shared:
            shared[link.gbps, most] = [
                best_share(instance, link.gbps, rings) for rings in range(most + 1)
            ]
    shares = [shared[link.gbps, most] for link, most in zip(tree.links, most_rings, strict=True)]
    modes, packed = _modes(instance)
    depth = max(map(len, tree.paths))
    return Arrays(
        slot_seconds=instance.time.slot_seconds,
        overhead_ms_per_server=contention.overhead_ms_per_server,
        intra_gbps=cluster.intra_server_gbps,
        modes=modes,
        packed=packed,
        server_gpus=np.array([server.gpus for server in cluster.servers], np.int64),
        path_at=_offsets([len(path) for path in tree.paths]),
        path=np.array([link for path in tree.paths for link in path], np.uint32),
        member_at=_offsets([depth * min(job.sizes[-1], len(tree.paths)) for job in instance.jobs]),
        row_at=_offsets([len(row) for row in shares]),
        share=np.array([share for row in shares for share in row], np.float64),
        sharing=_sharing(instance),
        concurrency=contention.concurrency,
        alpha=contention.degradation.alpha,
        cards=np.array(
            [server.network_cards for server in cluster.servers] if tree.has_cards else [], np.int64
        ),
        overlap=contention.overlap,
        norm=_norm(contention.overlap),
        gbps=np.array([link.gbps for link in tree.links], np.float64),
        classes=len(sensitivities(instance)),
        felt=_felt(instance),
        gpus=shared_gpus(instance, _within(instance, len(modes))),
    )


def _felt(instance: Instance) -> Ints:
    """What each job's ring counts to each class, or how its duty makes it; see `Arrays.felt`."""
    if sharing_rule(instance.contention).equal_weights:
        return np.zeros(0, np.int64)
    few = sensitivities(instance)
    found = np.tile(-1 - np.array(few, np.int64), (len(instance.jobs), 1))
    for j, job in enumerate(instance.jobs):
        if job.network_pressure is not None:
            found[j] = [pressure_units(pressure_of(job), sensitivity) for sensitivity in few]
    return found.reshape(-1)


def _within(instance: Instance, modes: int) -> Floats:
    """(modes) Bandwidth in Gbit/s of a ring within a server: modes are by rate, again and again."""
    rates = rates_within(instance)
    return np.tile(np.array(rates), modes // len(rates))


def _sharing(instance: Instance) -> int:
    """How rings share a link."""
    if sharing_rule(instance.contention).equal_weights:
        return BY_COUNT
    rates = {link.gbps for link in topology(instance.cluster).links}
    if len(sensitivities(instance)) == 1:
        return BY_LOAD if len(rates) == 1 else BY_RING
    return BY_CLASS if len(rates) == 1 else BY_RING_AND_CLASS


def _norm(overlap: float) -> Floats:
    """The norm at the ends of the parts, and once more at the last; empty without overlap."""
    if overlap == 1.0:
        return np.zeros(0)
    ratios = (min(1.0, i / NORM_PARTS) for i in range(NORM_PARTS + 2))
    return np.array([timing.overlapped_seconds(ratio, 1.0, overlap) for ratio in ratios])


def _modes(instance: Instance) -> tuple[Records, Ints]:
    """The modes of all jobs, and the slots that each takes on one server."""
    rates = rates_within(instance)
    if len(rates) == 1 and (found := columns(instance)):
        classes = sensitivity_classes(instance)
        modes = np.zeros(len(instance.jobs), JOB)
        seconds = np.zeros(len(modes))
        for jobs, pace in found:
            for name in ("iterations", "bits", "reduction", "compute", "latency"):
                modes[name][jobs] = getattr(pace, name)
            modes["gpus"][jobs] = pace.size
            modes["column"][jobs] = [classes[j] for j in jobs]
            seconds[jobs] = pace.seconds(1, rates[0])
        speeds = [timing.speed(instance.time.slot_seconds, one) for one in seconds.tolist()]
        pairs = zip(modes["iterations"].tolist(), speeds, strict=True)
        slots = [timing.slots_needed(left, speed) if speed else NEVER for left, speed in pairs]
        return modes, np.array(slots, np.int64)
    column = {sensitivity: k for k, sensitivity in enumerate(sensitivities(instance))}
    rows = [
        (
            *(pace.size, pace.iterations, pace.bits, pace.reduction, pace.compute, pace.latency),
            column.get(pace.sensitivity, 0),  # That of a job that uses no links makes no class.
            pace.slots(1, gbps),
        )
        for pace, gbps in rows_of(instance)
    ]
    *fields, alone = zip(*rows, strict=True)
    modes = np.zeros(len(rows), JOB)
    for name, field in zip(JOB.names or (), fields, strict=True):
        modes[name] = field
    return modes, np.array([NEVER if slots is None else slots for slots in alone], np.int64)


def new_state(arrays: Arrays) -> State:
    """Room for a simulation; `kernel.reset` makes it start."""
    jobs, links = len(arrays.member_at) - 1, len(arrays.row_at) - 1
    columns = links * arrays.classes
    state = State(
        counters=np.zeros(5, np.int64),
        rings=np.zeros(jobs, RING),
        changed_rings=np.zeros(jobs, np.uint32),
        heap=np.zeros(jobs, COMPLETION),
        links=np.zeros(links, LINK),
        changed_links=np.zeros(links, np.uint32),
        members=np.zeros(int(arrays.member_at[-1]), MEMBER),
        row=np.zeros(len(arrays.share), PLACE),
        touched=np.zeros(links, np.uint32),
        busy=np.zeros(len(arrays.server_gpus), np.int64),
        duty=np.zeros(jobs * arrays.classes, np.int64),
        load=np.zeros((2, columns), np.int64),
        known=np.zeros(jobs if len(arrays.norm) else 0, KNOWN),
        reach=np.zeros(jobs if len(arrays.cards) else 0),
        gpus=new_loads(arrays.gpus),
    )
    state.links["row"] = arrays.row_at[:-1]
    return state


def _offsets(lengths: list[int]) -> Indices:
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    if offsets[-1] >= NOWHERE:
        raise MemoryError(f"a table of {offsets[-1]} entries is needed, of 8 bytes each")
    return offsets.astype(np.uint32)
