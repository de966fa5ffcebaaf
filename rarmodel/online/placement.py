"""Where granted GPUs are: consolidated, on the first ones, or where rings are not in the way.

A placement is exchangeable: any policy goes with any placement. Yours is a `Placement` with a
function of what is asked for and of the site; see `docs/online.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rarmodel import registry
from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.schema import Cluster

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Asked:
    """What a job that is to start asks for.

    Attributes
    ----------
    size
        GPUs of its ring.
    allowed
        (servers) Servers that it may use; several such arrays if it runs faster on some types of
        GPU: those of the fastest type first, each array with all servers of the one before.
    fewest, most
        How few and how many servers it may use.
    equal
        Whether it holds the same number of GPUs on each.
    parts
        (servers) Servers of each part of the network, of which one must have the whole ring; none
        if it may use several parts.
    """

    size: int
    allowed: tuple[Truths, ...]
    fewest: int
    most: int
    equal: bool
    parts: tuple[Truths, ...] = ()

    def kept_by(self, ring: Mapping[int, int]) -> bool:
        """Whether a ring is as asked for."""
        counts = set(ring.values())
        return (
            sum(ring.values()) == self.size
            and min(counts) >= 1
            and self.fewest <= len(ring) <= self.most
            and (not self.equal or len(counts) == 1)
            and all(self.allowed[-1][server] for server in ring)
            and (not self.parts or any(part[[*ring]].all() for part in self.parts))
        )

    def each_allowed(self) -> Iterator[Truths]:
        """Servers that may have the whole ring, those of the fastest type first."""
        for allowed in self.allowed:
            yield from (allowed & part for part in self.parts) if self.parts else (allowed,)


@dataclass(frozen=True)
class Site:
    """The cluster as a placement sees it.

    Attributes
    ----------
    cluster
        Servers and network.
    idle
        (servers) GPUs that the job may take; not to be written to.
    rings
        (servers) Number of rings on the link of each server.
    lost
        Gives, for a ring of the job, the sum of the parts of their speed that other rings would
        lose, and the part of its best speed that the job would have.
    random
        Random numbers of this simulation.
    """

    cluster: Cluster
    idle: Ints
    rings: Callable[[], Ints]
    lost: Callable[[Mapping[int, int]], tuple[float, float]]
    random: np.random.Generator


Place = Callable[[Asked, Site], Mapping[int, int] | None]
"""Workers on each server, by index; None if the job is to wait."""


@dataclass(frozen=True)
class Placement(registry.Part):
    """A rule for where a job is put.

    Attributes
    ----------
    name
        Its name for `--placement`.
    place
        Gives the workers on each server, or None.
    description
        What it does, in a line.
    """

    kind = "placements"

    name: str
    place: Place
    description: str = ""


@compiled
def _gather(
    idle: Ints, allowed: Truths, size: int, fewest: int, most: int, taken: Truths, ring: Ints
) -> int:
    """Put a ring on the fewest servers: the most idle ones, and the tightest that has the rest.

    Writes servers and workers to `ring` by turns; returns the number of servers, 0 without room.
    """
    used, left = 0, size
    while used < most:
        best = widest = -1
        for s in range(len(idle)):
            if not allowed[s] or taken[s] or idle[s] < 1:
                continue
            if idle[s] >= left and (best < 0 or idle[s] < idle[best]):
                best = s
            if widest < 0 or idle[s] > idle[widest]:
                widest = s
        # Each server that must still come gets a worker at least.
        coming = max(0, fewest - used - 1)
        chosen, count = best, left
        if coming > 0 or best < 0:
            chosen = widest
            count = 0 if widest < 0 else min(idle[widest], left - max(1, coming))
        if chosen < 0 or count < 1:
            break
        taken[chosen] = True
        ring[2 * used], ring[2 * used + 1] = chosen, count
        used += 1
        left -= count
        if left == 0:
            break
    for i in range(used):
        taken[ring[2 * i]] = False
    return used if left == 0 else 0


def _even(asked: Asked, idle: Ints, allowed: Truths) -> dict[int, int] | None:
    """The fewest servers with the same number of GPUs on each, the tightest ones."""
    for servers in range(asked.fewest, min(asked.most, asked.size) + 1):
        if asked.size % servers:
            continue
        share = asked.size // servers
        roomy = np.flatnonzero(allowed & (idle >= share))
        if len(roomy) >= servers:
            tightest = roomy[np.argsort(idle[roomy], kind="stable")][:servers]
            return dict.fromkeys(tightest.tolist(), share)
    return None


def fewest_servers(asked: Asked, idle: Ints) -> dict[int, int] | None:
    """The fewest servers that are idle enough, of equal ones the fastest; None if none are."""
    best: dict[int, int] | None = None
    for allowed in asked.each_allowed():
        if asked.equal:
            ring = _even(asked, idle, allowed)
        else:
            taken = np.zeros(len(idle), np.bool_)
            pairs = np.zeros(2 * min(asked.most, asked.size), np.int64)
            used = _gather(idle, allowed, asked.size, asked.fewest, asked.most, taken, pairs)
            ring = dict(zip(*pairs[: 2 * used].reshape(-1, 2).T.tolist(), strict=True)) or None
        if ring is not None and (best is None or len(ring) < len(best)):
            best = ring
        if best is not None and len(best) == asked.fewest:
            break
    return best


def consolidated(asked: Asked, site: Site) -> Mapping[int, int] | None:
    """The fewest servers that are idle enough now.

    One server: that with the fewest idle GPUs. Several: the most idle ones, and for the rest of the
    ring the one with the fewest idle GPUs that has room for it. Of equal ones the first in the
    cluster. Where types of GPU differ for the job, the number of servers comes first, and then the
    speed. A job waits for nothing else than room.
    """
    return fewest_servers(asked, site.idle)


def on_first_gpus(asked: Asked, site: Site) -> Mapping[int, int] | None:
    """The first idle GPUs, from server to server; consolidated if the job asks for another spread.

    This is FF of the paper's experiments, without its limit.
    """
    ring: dict[int, int] = {}
    left = asked.size
    for server in np.flatnonzero(asked.allowed[-1] & (site.idle > 0)).tolist():
        ring[server] = min(left, int(site.idle[server]))
        left -= ring[server]
        if left == 0:
            return ring if asked.kept_by(ring) else fewest_servers(asked, site.idle)
    return None


def out_of_the_way(asked: Asked, site: Site) -> Mapping[int, int] | None:
    """On one server, or over links without rings, or where starting loses less than waiting.

    In a slot of waiting the job loses the part of its best speed that it would have. In a slot of
    running, the rings on its links lose parts of theirs. The ring starts if the first is more than
    the sum of the others, so no durations are needed. The rule of Ada-SRSF is of this kind: two
    all-reduces overlap only if that shortens the mean (Q. Wang, S. Shi, C. Wang, X. Chu,
    "Communication contention aware scheduling of multiple deep learning training jobs",
    arXiv:2002.10105, 2020). With nothing on its links a ring never waits.
    """
    ring = fewest_servers(asked, site.idle)
    if ring is None or len(ring) == 1:
        return ring
    quiet = site.rings() == 0
    apart = fewest_servers(asked, np.where(quiet, site.idle, 0))
    best, gain = None, 0.0
    for one in (ring, apart):
        if one is not None:
            lost, own = site.lost(one)
            if own - lost > gain:
                best, gain = one, own - lost
    return best


CONSOLIDATE = Placement("consolidate", consolidated, "on the fewest servers that are idle enough")
FIRST_FIT = Placement("first-fit", on_first_gpus, "on the first idle GPUs, from server to server")
CONTENTION_AWARE = Placement(
    "contention-aware",
    out_of_the_way,
    "over links only if the rings there lose less than the job would by waiting",
)
