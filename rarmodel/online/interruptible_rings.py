"""The engine's rings, which here also stop and go on: compiled steps of a simulation.

Between two events speeds are constant, and only rings on the links of a ring that starts or stops
change speed: see `rarmodel.engine.kernel`. What a ring still has to do is `left_of` at any time,
also while it holds no GPUs or is restored.
"""

from __future__ import annotations

import numpy as np

from rarmodel.engine import duties, kernel
from rarmodel.engine import segmented_runs as segments
from rarmodel.engine.arrays import BY_COUNT, NOW, UNKNOWN, Arrays, Floats, Ints, State
from rarmodel.engine.compilation import compiled
from rarmodel.engine.modes import Modes, mode_of
from rarmodel.engine.segmented_runs import Work


@compiled
def empty(arrays: Arrays, state: State, left: Ints) -> None:
    """Slot 0, with nothing running; `left` are the iterations of each job."""
    kernel.reset(arrays, state)
    for job in range(len(left)):
        ring = state.rings[job]
        ring.remaining = left[job]
        ring.since = 0
        ring.speed = 0


@compiled
def begin(
    arrays: Arrays,
    state: State,
    modes: Modes,
    compute: Floats,
    within: Ints,
    job: int,
    servers: Ints,
    workers: Ints,
) -> None:
    """A job's ring exchanges gradients from now on, with `workers[i]` on `servers[i]`."""
    used, mode = len(servers), job
    if len(modes.first) > 0:
        mode = mode_of(modes, compute, job, servers, workers, used)
    segments.begin(arrays, state, within, job, mode, servers, workers, used)


@compiled
def stop(arrays: Arrays, state: State, job: int) -> None:
    """A ring exchanges no gradients any more."""
    ring = state.rings[job]
    if ring.links > 0 and ring.settled == UNKNOWN:  # It began in this slot.
        kernel._settle(arrays, state)
    segments.stop(state, arrays, job)


@compiled
def lose(state: State, work: Work, job: int) -> int:
    """A job that holds no GPUs loses what it did since its last checkpoint; how much that is."""
    return segments.lose(state, work, job)


@compiled
def next_completion(arrays: Arrays, state: State) -> int:
    """Slot of the next completion if nothing changes before; NEVER if there is none."""
    return kernel.next_completion(arrays, state)


@compiled
def complete(arrays: Arrays, state: State, completed: Ints) -> int:
    """Go to the next completion; writes the jobs that complete, and returns how many there are."""
    count = kernel.complete_next(arrays, state, completed)
    for i in range(count):
        ring = state.rings[completed[i]]
        ring.remaining = 0
        ring.speed = 0
    return count


@compiled
def left_of(state: State, jobs: Ints, left: Ints) -> None:
    """Iterations that each of some jobs has to do now."""
    now = state.counters[kernel.CLOCK]
    for i in range(len(jobs)):
        ring = state.rings[jobs[i]]
        left[i] = max(0, ring.remaining - ring.speed * (now - ring.since))


@compiled
def part_lost(
    arrays: Arrays,
    state: State,
    servers: Ints,
    workers: Ints,
    size: int,
    weight: Ints,
    column: int,
    after: Floats,
    met: Ints,
) -> tuple[float, float]:
    """What a new ring would take from those on its links, and its bandwidth there in Gbit/s.

    The first is the sum, over the rings on the links that it would use, of the part of their speed
    that they would lose. A ring without progress loses nothing.

    Parameters
    ----------
    arrays, state
        The simulation.
    servers, workers, size
        Where the ring would be, and how many GPUs it has.
    weight, column
        What it would count on its links to each class of rings, and its own class.
    after, met
        (jobs) Scratch: bandwidth of rings, and which rings these are.
    """
    kernel._settle(arrays, state)
    touched = count = 0
    own = np.inf
    if len(arrays.cards) > 0:
        own = kernel.reach_of(arrays, servers, workers, len(servers))
    for i in range(len(servers)):
        for p in range(arrays.path_at[servers[i]], arrays.path_at[servers[i] + 1]):
            link = state.links[arrays.path[p]]
            if link.below == 0:
                state.touched[touched] = arrays.path[p]
                touched += 1
            link.below += workers[i]
    for i in range(touched):
        index = state.touched[i]
        link = state.links[index]
        crossed = link.below < size
        link.below = 0
        if not crossed:
            continue
        share = arrays.share[link.row + link.rings + 1]
        if arrays.sharing != BY_COUNT:
            load = state.load[NOW, index * arrays.classes + column]
            share = duties.share(arrays, index, load)
        own = min(own, share)
        for at in range(link.row, link.row + link.rings):
            job = state.row[at].job
            if arrays.sharing != BY_COUNT:
                others = duties.load_beside(arrays, state, job, index)
                more = weight[duties.column_of(arrays, state, job)]
                share = duties.share(arrays, index, others + more)
            if share < kernel.settled_gbps(arrays, state, job):
                if after[job] == 0.0:
                    met[count] = job
                    count += 1
                    after[job] = share
                after[job] = min(after[job], share)
    lost = 0.0
    for i in range(count):
        ring = state.rings[met[i]]
        slowed = kernel.speed_at(arrays, state, met[i], after[met[i]])
        after[met[i]] = 0.0
        if ring.speed > 0:
            lost += 1.0 - slowed / ring.speed
    return lost, own
