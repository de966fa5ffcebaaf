"""Packings that complete jobs earlier, with the makespan kept: annealing over servers.

The changes are those of `server_annealing`. Beside the slots past the makespan, the completions of
the packed jobs count there, each by its weight. Rounds begin by turns with the best solution, whose
spread rings stay where they are, and with jobs that fit a server dealt out anew. A round that ends
past the makespan is mended: slots past it alone count until there are none, then the rest again.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import inf
from time import perf_counter

import numpy as np

from rarmodel.engine import Engine, Placements
from rarmodel.engine.arrays import Ints
from rarmodel.limits import Limits, processors
from rarmodel.schema import Instance

from .buddy_blocks import new_blocks, pack_blocks
from .layout import layout_of
from .server_annealing import anneal_servers, worth_annealing
from .server_orders import Packing, packing_of, rings_alone, settle, solution_of
from .solution import Solution

WORK, MOVES_PER_JOB, FEWEST_MOVES = 2_000_000, 500, 50
"""Approximate work of a step, where a move takes the square of jobs per server; most moves of a
step for each job; and fewest in all."""
FIRST_ROUND, MOST_ROUND = 15, 480
"""Steps of a thread's first round, and most steps; each round is twice as long as the last."""
WEIGHT = 0.01
"""What a slot of a job's completion counts, in GPU slots past the makespan, by mean ring size."""
HOT_ANEW, HOT, COLD = 0.3, 0.03, 0.015
"""First temperature of a round that deals jobs anew, of another, and the last of both: slots of
completion, as a share of the mean execution time."""
MEND_HOT, MEND_COLD = 0.02, 0.002
"""The same in GPU slots past the makespan, while they alone count."""
MEND_STEPS = 20
"""Most steps of that."""
BEST, ANEW, MENDED = range(3)
"""How rounds begin: with the best solution, with jobs dealt out anew, or after one that did."""
IDLE_ROUNDS = 2
"""Where nothing else ends the search, it ends after so many rounds without a better solution."""


@dataclass
class _Round:
    """A round of one thread."""

    skeleton: Solution
    packing: Packing
    kind: int
    length: int
    """Steps."""
    left: int
    temperature: float
    cooling: float
    """Factor of the temperature from one move to the next."""


class Repacking:
    """A search for packings of the paper's problem that complete jobs earlier.

    Parameters
    ----------
    instance
        The problem.
    solution
        A solution to start from; no makespan is longer than its own.
    limits
        Of these it respects `threads` and `seed`.

    Attributes
    ----------
    solution
        The best solution known.
    """

    def __init__(self, instance: Instance, solution: Solution, limits: Limits) -> None:
        self._layout, self._cap = layout_of(instance), solution.makespan
        self._weights = [job.weight for job in instance.jobs]
        self.solution, self.total = solution, self._total(solution)
        self.take(mirrored(instance, solution))
        layout, threads = self._layout, limits.threads or processors()
        self.applies = worth_annealing(layout)
        moves = min(int(WORK / (layout.jobs_per_server**2 + 50)), MOVES_PER_JOB * len(layout.size))
        self._moves = max(FEWEST_MOVES, moves)
        weights = np.array(self._weights, np.float64)
        # Weights of mean 1, so that temperatures mean the same for all instances.
        self._weight = WEIGHT * float(layout.size.mean()) * weights / weights.mean()
        self._slot = WEIGHT * float(layout.size.mean()) * float(layout.least.mean())
        self._stop = np.zeros(1, np.int64)
        self._generators = [
            np.array([limits.seed * 1_000_003 + i], np.uint64) for i in range(threads)
        ]
        self._rounds: list[_Round | None] = [None] * threads
        self._begun = [0] * threads

    def _total(self, solution: Solution) -> int:
        """Weighted sum of completions, in slots: exact, however long they are."""
        return sum(
            weight * end
            for weight, end in zip(self._weights, solution.completions.tolist(), strict=True)
        )

    def take(self, found: Solution | None) -> bool:
        """Keep a solution if it is better and its makespan no longer; return whether it is."""
        if found is None or found.makespan > self._cap:
            return False
        total = self._total(found)
        if total >= self.total:
            return False
        self.solution, self.total = found, total
        return True

    def run(
        self, deadline: float | None, iterations: int | None, patience: int | None, bound: float
    ) -> None:
        """Search until there is a reason to stop.

        Parameters
        ----------
        deadline
            The reading of `time.perf_counter` at which to stop; None for no time limit.
        iterations, patience
            Steps of all threads, in all, and without a better solution; None for no limit.
        bound
            A value of the weighted sum that cannot be bettered.
        """
        end = inf if deadline is None else deadline
        self._stop[0] = 0
        made = idle = 0
        threads = range(len(self._rounds))
        # More threads than processors take turns: those that never begin need not end either.
        with ThreadPoolExecutor(min(len(self._rounds), processors())) as pool:
            while self.applies and self.total > bound and made != iterations:
                over = perf_counter() >= end or idle == patience
                if over or (patience is None and idle >= self._patience):
                    break
                steps = [pool.submit(self._step, i) for i in threads]
                try:
                    wait(steps, None if end == inf else max(0.0, end - perf_counter()))
                finally:
                    self._stop[0] = int(not all(step.done() for step in steps))
                    better = [self.take(step.result()) for step in steps]
                made += 1
                idle = 0 if any(better) else idle + 1
            self._stop[0] = 0
            for found in [pool.submit(self._end, i) for i in threads]:
                self.take(found.result())

    @property
    def _patience(self) -> int:
        """Steps without a better solution that are enough."""
        return IDLE_ROUNDS * max(FIRST_ROUND, *(one.length for one in self._rounds if one), 0)

    def _step(self, i: int) -> Solution | None:
        """Anneal for a moment on one thread; the solution if a round ends."""
        now = self._rounds[i]
        if self._stop[0]:
            return None
        if now is None:
            now = self._rounds[i] = self._begin(i)
        anneal_servers(
            self._layout,
            now.packing,
            self._cap,
            self._moves,
            now.temperature,
            now.cooling,
            self._generators[i],
            self._stop,
        )
        now.temperature *= now.cooling**self._moves
        now.left -= 1
        if now.left > 0:
            return None
        found = self._end(i)
        if now.kind == ANEW and found is not None and found.makespan > self._cap:
            return self._mend(i, now)
        return found

    def _mend(self, i: int, round_: _Round) -> Solution | None:
        """Make the slots past the makespan none, and begin a round with what that gives."""
        packing, scale = round_.packing, float(self._layout.packed.mean())
        packing.weight[:] = 0.0
        moves = MEND_STEPS * self._moves
        cooling = (MEND_COLD / MEND_HOT) ** (1 / moves)
        heat = MEND_HOT * scale, cooling, self._generators[i], self._stop
        if not anneal_servers(self._layout, packing, self._cap, moves, *heat):
            return None
        settle(self._layout, packing, self._cap)
        self._rounds[i] = self._round(round_.skeleton, packing, MENDED, round_.length)
        return solution_of(self._layout, round_.skeleton, packing)

    def _begin(self, i: int) -> _Round:
        """Begin a round: by turns with the best solution, and anew."""
        kind = (self._begun[i] + i) % 2
        length = min(MOST_ROUND, FIRST_ROUND << self._begun[i])
        self._begun[i] += 1
        if kind == BEST:
            return self._round(self.solution, packing_of(self._layout, self.solution), kind, length)
        skeleton, packing = rings_alone(self._layout, self.solution)
        blocks = new_blocks(self._layout, packing, self._generators[i])
        pack_blocks(self._layout, blocks, packing)
        return self._round(skeleton, packing, kind, length)

    def _round(self, skeleton: Solution, packing: Packing, kind: int, length: int) -> _Round:
        packing.weight[:] = self._weight
        hot = HOT_ANEW if kind == ANEW else HOT
        cooling = (COLD / hot) ** (1 / (self._moves * length))
        return _Round(skeleton, packing, kind, length, length, hot * self._slot, cooling)

    def _end(self, i: int) -> Solution | None:
        """End a thread's round, also if it was not to end yet."""
        now, self._rounds[i] = self._rounds[i], None
        if now is None:
            return None
        settle(self._layout, now.packing, self._cap)
        return solution_of(self._layout, now.skeleton, now.packing)


def mirrored(instance: Instance, solution: Solution) -> Solution | None:
    """The solution with time run backwards; None if it is longer, which it never should be.

    In each slot of it the same jobs are active as in the slot that mirrors it, so each job has done
    its iterations by the end of its slots, or before, where its last slot was not full.
    """
    starts: Ints = solution.makespan - solution.completions
    places = Placements(solution.at, solution.server, solution.workers)
    makespan, completions = Engine(instance).evaluate(starts, places, solution.makespan)
    if makespan < 0:
        return None
    return solution._replace(makespan=makespan, starts=starts, completions=completions)
