"""Turns over packings: annealing over servers, and over buddy blocks.

They begin from the thread's best order, from the best solution of all threads, or with jobs dealt
out anew. A turn over buddy blocks that misses its target hands its packing on to servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rarmodel.engine import NEVER
from rarmodel.packing import Layout, Solution
from rarmodel.packing.buddy_annealing import anneal_blocks
from rarmodel.packing.buddy_blocks import BuddyBlocks, new_blocks, pack_blocks
from rarmodel.packing.server_annealing import anneal_servers
from rarmodel.packing.server_orders import Packing, packing_of, rings_alone, settle, solution_of

from .thread import ANEW, BLOCKS_NAME, MOMENT, SERVERS_NAME, TARGETS, Missed, Thread


class Annealing(NamedTuple):
    """How turns anneal."""

    hot: float
    """First temperature, as a share of the mean execution time."""
    cold: float
    """Last temperature, in the same way."""
    targets: tuple[float, ...]
    """Targets of successive turns, as positions between incumbent (0) and bound (1)."""

    def heat(self, layout: Layout, moves: int) -> tuple[float, float]:
        """First temperature in slots, and its factor from one of so many moves to the next."""
        first = self.hot * float(layout.packed.mean())
        return first, (self.cold / self.hot) ** (1 / moves)


class ServerNumbers(NamedTuple):
    """How turns over servers go."""

    work: int = 8_000_000
    """Approximate work of a step; a move takes the square of jobs per server."""
    fewest_moves: int = 50
    steps: int = 30
    most_steps: int = 240
    """Steps of the first turn, and most steps; each turn is twice as long as the last. If a turn
    reaches its target, the next turn has another target."""
    hot_moves: int = 5_000
    """Turns are hot if the shortest one has as many moves for each job, and if jobs that fit a
    server are most of the work."""
    cool: Annealing = Annealing(0.02, 0.002, TARGETS)
    hot: Annealing = Annealing(0.5, 0.02, (0.5, 0.75, 1.0, 0.25))
    """Wide jobs change their servers, too. A target near the bound that is missed by little is
    good."""

    def moves(self, layout: Layout) -> int:
        """Moves of a step."""
        return max(self.fewest_moves, int(self.work / (layout.jobs_per_server**2 + 50)))


class BlockNumbers(NamedTuple):
    """How turns over buddy blocks go."""

    moves: int = 800_000
    """Exchanges in one step."""
    steps: int = 12
    most_steps: int = 96
    jobs: int = 160
    """Steps of the first turn, and most steps for this many jobs."""
    annealing: Annealing = Annealing(0.015, 0.008, (0.25, 0.0))


SERVER_NUMBERS = ServerNumbers()
BLOCK_NUMBERS = BlockNumbers()


def servers_lead(layout: Layout) -> bool:
    """Whether turns over servers are hot: then they gain most, where sizes do not nest."""
    numbers = SERVER_NUMBERS
    enough = numbers.steps * numbers.moves(layout) >= numbers.hot_moves * len(layout.size)
    return not layout.nests and enough and layout.mostly_packed


@dataclass
class _Turn:
    """A turn."""

    skeleton: Solution
    packing: Packing
    annealing: Annealing
    length: int
    """Steps."""
    moves: int
    """Moves of a step."""
    target: int = 0
    temperature: float = 0.0
    cooling: float = 1.0
    """Factor of the temperature from one move to the next."""

    def heat(self, thread: Thread, incumbent: int, bound: int) -> int:
        """Start to anneal; return the number of steps."""
        self.temperature, self.cooling = self.annealing.heat(
            thread.layout, self.moves * self.length
        )
        self.target = thread.aim(incumbent, bound, self.annealing.targets)
        return self.length

    def look(self, thread: Thread, incumbent: int, bound: int) -> None:
        """Aim elsewhere once a solution of some thread meets the target."""
        if self.target >= incumbent:
            self.target = thread.aim(incumbent, bound, self.annealing.targets)


class ServerTurns:
    """The turns of one thread over servers.

    Parameters
    ----------
    thread
        The thread.
    """

    def __init__(self, thread: Thread) -> None:
        self._thread, self._numbers = thread, SERVER_NUMBERS
        self._hot = thread.leader == SERVERS_NAME
        self._moves = self._numbers.moves(thread.layout)
        self._longest = int(self._numbers.steps * thread.many)
        self._most = int(self._numbers.most_steps * thread.many)
        if thread.nested:
            # Then little is gained by changes that are not nested.
            self._most = MOMENT
        elif self._hot:
            self._most = self._numbers.steps
        self._packed_bound = thread.layout.packed_bound
        self._turn: _Turn | None = None
        self.left = 0

    def wants(self, start: int) -> bool:
        """Leave turns that deal jobs anew to buddy blocks, unless they are hot."""
        return start != ANEW or self._hot or BLOCKS_NAME not in self._thread.names

    def begin(self, start: int, best: Solution | None, bound: int) -> None:
        """Begin with the best order or solution, or with jobs dealt anew."""
        thread = self._thread
        layout, solution = thread.layout, thread.begun(start, best)
        if start == ANEW or (self._hot and self._packed_bound <= bound):
            solution, packing = rings_alone(layout, solution)
            pack_blocks(layout, new_blocks(layout, packing, thread.generator), packing)
        else:
            packing = packing_of(layout, solution)
        annealing = self._numbers.hot if self._hot else self._numbers.cool
        length = min(self._longest, self._most)
        self._longest *= 2
        self._heat(_Turn(solution, packing, annealing, length, self._moves), best, bound)

    def mend(self, missed: Missed, best: Solution | None, bound: int) -> bool:
        """Reduce what is left past the target, which an exchange that is not nested may do."""
        length = min(self._numbers.steps, self._most)
        self._heat(_Turn(*missed, self._numbers.cool, length, self._moves), best, bound)
        return True

    def _heat(self, turn: _Turn, best: Solution | None, bound: int) -> None:
        self._turn = turn
        self.left = turn.heat(self._thread, NEVER if best is None else best.makespan, bound)

    def step(self, best: Solution | None, bound: int) -> Solution | None:
        """Anneal for a moment."""
        thread, turn = self._thread, self._turn
        if turn is None:
            return None
        incumbent = NEVER if best is None else best.makespan
        turn.look(thread, incumbent, bound)
        done = anneal_servers(
            thread.layout,
            turn.packing,
            turn.target,
            turn.moves,
            turn.temperature,
            turn.cooling,
            thread.generator,
            thread.stop,
        )
        turn.temperature *= turn.cooling**turn.moves
        if not done and self.left > 0:
            return None
        settle(thread.layout, turn.packing, turn.target)
        solution = solution_of(thread.layout, turn.skeleton, turn.packing)
        if done:
            # The packed jobs keep to the target, but the spread rings need not.
            shorter = solution.makespan < incumbent
            self.left = turn.heat(thread, solution.makespan, bound) if shorter else 0
        return solution if solution.makespan < incumbent else None


class BlockTurns:
    """The turns of one thread over buddy blocks.

    Parameters
    ----------
    thread
        The thread.
    """

    def __init__(self, thread: Thread) -> None:
        self._thread, self._numbers = thread, BLOCK_NUMBERS
        jobs = len(thread.layout.size)
        self._longest = self._numbers.steps
        self._most = int(self._numbers.most_steps * max(1, jobs / self._numbers.jobs))
        self._turn: _Turn | None = None
        self._blocks: BuddyBlocks | None = None
        self.left = 0

    def wants(self, start: int) -> bool:
        """Take turns that deal jobs anew, unless turns over servers are hot."""
        return start == ANEW and self._thread.leader != SERVERS_NAME

    def mend(self, missed: Missed, best: Solution | None, bound: int) -> bool:
        """Mend nothing: such a packing is its own."""
        return False

    def begin(self, start: int, best: Solution | None, bound: int) -> None:
        """Deal the jobs anew."""
        thread = self._thread
        layout = thread.layout
        skeleton, packing = rings_alone(layout, thread.begun(start, best))
        self._blocks = new_blocks(layout, packing, thread.generator)
        length = self._longest
        self._longest = min(2 * self._longest, self._most)
        numbers = self._numbers
        self._turn = _Turn(skeleton, packing, numbers.annealing, length, numbers.moves)
        self.left = self._turn.heat(thread, NEVER if best is None else best.makespan, bound)

    def step(self, best: Solution | None, bound: int) -> Solution | None:
        """Anneal for a moment; hand the packing on if it misses the target."""
        thread, turn, blocks = self._thread, self._turn, self._blocks
        if turn is None or blocks is None:
            return None
        incumbent = NEVER if best is None else best.makespan
        turn.look(thread, incumbent, bound)
        done = anneal_blocks(
            thread.layout,
            blocks,
            turn.target,
            turn.moves,
            turn.temperature,
            turn.cooling,
            thread.generator,
            thread.stop,
        )
        turn.temperature *= turn.cooling**turn.moves
        if not done and self.left > 0:
            return None
        pack_blocks(thread.layout, blocks, turn.packing)
        settle(thread.layout, turn.packing, turn.target)
        solution = solution_of(thread.layout, turn.skeleton, turn.packing)
        if done:
            # The packed jobs keep to the target, but the spread rings need not.
            shorter = solution.makespan < incumbent
            self.left = turn.heat(thread, solution.makespan, bound) if shorter else 0
        else:
            thread.missed = Missed(turn.skeleton, turn.packing)
        return solution if solution.makespan < incumbent else None
