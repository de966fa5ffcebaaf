"""One thread of the search: it takes turns over orders and over servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rarmodel.engine import NEVER
from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.random_numbers import Generator, below_plain
from rarmodel.lists.instance_arrays import InstanceArrays
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.objective_arrays import objective_arrays
from rarmodel.lists.order_annealing import OrderAnnealing
from rarmodel.lists.order_moves import BEST, CURRENT, JUSTIFIED, NOTHING
from rarmodel.lists.placement_options import (
    ANY,
    ANY_ALONE,
    FEWEST_ALONE,
    NEVER_PACKS,
    PACK,
    PACKS_LAST,
    option_of_style,
)
from rarmodel.packing import Layout, Solution
from rarmodel.packing.buddy_annealing import anneal_blocks
from rarmodel.packing.buddy_blocks import BuddyBlocks, new_blocks, pack_blocks
from rarmodel.packing.server_annealing import anneal_servers, worth_annealing
from rarmodel.packing.server_orders import (
    Packing,
    packing_of,
    rings_alone,
    settle,
    solution_of,
)
from rarmodel.schema import Instance

from .starts import decoded, styled

ORDER_WORK = 100_000
"""Approximate number of jobs to schedule in one step over orders: less than 0.1 s."""
SERVER_WORK = 8_000_000
"""Approximate work of a step over servers; a move takes the square of jobs per server."""
FEWEST_MOVES = 50
BLOCK_MOVES = 800_000
"""Exchanges in one step of the search over buddy blocks."""
ORDER_STEPS, MOST_ORDER_STEPS = 20, 160
SERVER_STEPS, MOST_SERVER_STEPS = 30, 240
"""Steps of the first turn, and most steps; each turn is twice as long as the last of its kind. If a
turn over servers reaches its target, the next turn has another target.
"""
MANY_JOBS = 2_000
"""With more jobs, turns over orders get shorter, as one more order then gains little, and turns
over servers get longer, so that every server gets its share of the moves.
"""
TARGETS = (0.5, 0.25, 0.75, 0.0)
"""Targets of successive turns, as positions between incumbent (0) and bound (1)."""
ORDER_HOT, ORDER_COLD = 0.05, 0.003
"""First and last temperature of a turn over orders, as a share of the mean execution time, by which
all jobs together are past the target. The first turn is cold, to find a good solution soon.
"""
HOT_MOVES = 5_000
"""Turns over servers are hot if the shortest one has as many moves for each job, and if jobs that
fit a server are most of the work."""
BLOCK_STEPS, MOST_NEST_STEPS, BLOCK_JOBS = 12, 96, 160
"""Steps of the first turn over buddy blocks, and most steps for this many jobs."""
FEWEST_STEPS = 2
"""Steps of the turns between those over buddy blocks or between hot ones: they only give them other
rings.
"""
BEST_ORDER, BEST_SOLUTION, ANEW = range(3)
"""Starts of a turn: the thread's best order, the best solution of all threads, or, over servers,
jobs dealt out anew.
"""
KINDS = (ANEW, BEST_SOLUTION, ANEW, BEST_ORDER)
BLOCK_KINDS = (ANEW, ANEW, BEST_SOLUTION)
"""Order of successive kinds of turns, without and with buddy blocks."""


class _Annealing(NamedTuple):
    """How turns over servers anneal."""

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


COOL = _Annealing(0.02, 0.002, TARGETS)
HOT = _Annealing(0.5, 0.02, (0.5, 0.75, 1.0, 0.25))
"""Wide jobs change their servers, too. A target near the bound that is missed by little is good."""
NESTED = _Annealing(0.015, 0.008, (0.25, 0.0))
"""Turns over buddy blocks."""


@dataclass
class _ServerTurn:
    """A turn over servers."""

    skeleton: Solution
    packing: Packing
    blocks: BuddyBlocks | None
    """Buddy blocks that are searched instead of the packing, or None."""
    annealing: _Annealing
    length: int
    """Steps."""
    target: int = 0
    temperature: float = 0.0
    cooling: float = 1.0
    """Factor of the temperature from one move to the next."""


class Worker:
    """State of one thread's search.

    Parameters
    ----------
    instance, arrays, layout
        The instance.
    index
        Number of the thread.
    starts
        Orders and options to start from, the best one first.
    odds
        (jobs) How often a new option lets each job share links; they may change between steps.
    generator
        The thread's random numbers.
    stop
        (1) Another thread sets it to 1 to stop a step.
    """

    def __init__(
        self,
        instance: Instance,
        arrays: InstanceArrays,
        layout: Layout,
        index: int,
        starts: Sequence[tuple[Ints, Ints]],
        odds: Floats,
        generator: Generator,
        stop: Ints,
    ) -> None:
        self._layout, self._index, self._generator = layout, index, generator
        self._stop = stop
        lists = ListSchedules(instance, arrays, stop)
        self._orders = OrderAnnealing(lists, objective_arrays(instance), JUSTIFIED, generator)
        self._orders.encodings = self._orders.encodings._replace(odds=odds)
        self._orders.begin(*starts[index % len(starts)])
        self._starts = starts
        self._packed = option_of_style(arrays.options, PACK, NEVER_PACKS)
        self._turn = 0
        self._incumbent = 0
        self._least = float(layout.least.mean())
        self._trials = max(1, ORDER_WORK // (len(layout.size) + 40))
        many = max(1.0, len(layout.size) / MANY_JOBS)
        self._steps = self._longest_order_turn = max(2, int(ORDER_STEPS / many))
        self._most_order_steps = max(2, int(MOST_ORDER_STEPS / many))
        self._longest_server_turn = int(SERVER_STEPS * many)
        self._most_server_steps = int(MOST_SERVER_STEPS * many)
        self._servers: _ServerTurn | None = None
        self._nests = layout.nests
        self._longest_block_turn = BLOCK_STEPS
        self._most_block_steps = int(MOST_NEST_STEPS * max(1, len(layout.size) / BLOCK_JOBS))
        self._moves = max(FEWEST_MOVES, int(SERVER_WORK / (layout.jobs_per_server**2 + 50)))
        self._repacks = worth_annealing(layout)
        self._heats = (
            self._repacks
            and not self._nests
            and SERVER_STEPS * self._moves >= HOT_MOVES * len(layout.size)
            and layout.mostly_packed
        )
        if self._nests or self._heats:
            self._most_order_steps = FEWEST_STEPS
        if self._nests:
            # Then little is gained by changes that are not nested.
            self._most_server_steps = FEWEST_STEPS
        elif self._heats:
            self._most_server_steps = SERVER_STEPS
        self._packed_bound = layout.packed_bound

    def step(self, best: Solution | None, bound: int) -> Solution | None:
        """Search for a moment; return a solution if it is shorter than the best.

        Parameters
        ----------
        best
            The shortest known solution of any thread; None if there is none.
        bound
            A lower bound on the makespan in slots.
        """
        incumbent = NEVER if best is None else best.makespan
        if self._steps == 0:
            self._turn += 1
            if (
                self._servers is None
                and self._repacks
                and self._orders.encodings.energy[BEST] < NOTHING
            ):
                self._servers = self._server_turn(best, bound)
            else:
                self._servers = None
                self._order_turn(best, incumbent)
        self._steps -= 1
        if self._servers is not None:
            return self._anneal(self._servers, incumbent, bound)
        return self._reorder(incumbent, bound)

    def _aim(self, incumbent: int, bound: int, parts: tuple[float, ...] = TARGETS) -> int:
        """The target makespan of the next turn."""
        if incumbent == NEVER:
            return bound
        part = parts[(self._index + self._turn // 2) % len(parts)]
        return max(bound, incumbent - 1 - int((incumbent - 1 - bound) * part))

    def _reorder(self, incumbent: int, bound: int) -> Solution | None:
        """A step over orders."""
        orders = self._orders
        orders.aim_at(self._aim(incumbent, bound))
        orders.step(self._trials)
        return self._decoded(BEST) if orders.encodings.value[BEST, 0] < incumbent else None

    def _decoded(self, row: int) -> Solution:
        """The solution of one of the orders."""
        self._orders.decode(row)
        return decoded(self._orders.lists)

    def _shuffled(self) -> Solution | None:
        """A solution that starts jobs that fit no server among the first; None if some never end.

        The jobs that start before them decide on which servers they spread.
        """
        fits = self._layout.packed > 0
        random = np.random.default_rng(below_plain(self._generator, 2**62))
        before = fits & (random.random(len(fits)) < random.random())
        order = np.lexsort((random.random(len(fits)), np.where(before, 0, np.where(fits, 2, 1))))
        options = self._orders.lists.arrays.options
        ways = [
            styled(self._layout, options, PACK, NEVER_PACKS, style)
            for style in (FEWEST_ALONE, ANY_ALONE, ANY)
        ]
        option = np.choose(random.integers(len(ways), size=len(fits)), ways)
        lists = self._orders.lists
        return decoded(lists) if lists.made(order, option) else None

    @property
    def _kind(self) -> int:
        """Choose the start of a turn: it differs between threads and between turns."""
        kinds = BLOCK_KINDS if self._nests else KINDS
        return kinds[(self._turn // 2 + self._index) % len(kinds)]

    def _order_turn(self, best: Solution | None, incumbent: int) -> None:
        """Start to anneal orders, from another start if nothing improved since the last time."""
        self._longest_order_turn = min(2 * self._longest_order_turn, self._most_order_steps)
        self._steps = self._longest_order_turn
        if not self._nests:  # Otherwise the turns over orders are too short for that.
            encodings = self._orders.encodings
            unit = JUSTIFIED.excess * self._least / (encodings.scale[0] * len(self._layout.size))
            self._orders.heat(ORDER_HOT * unit, ORDER_COLD * unit, self._trials * self._steps)
        stagnant = incumbent == self._incumbent and not self._nests
        self._incumbent = incumbent
        if best is not None and self._kind == BEST_SOLUTION:
            option = self._orders.encodings.option[CURRENT]
            options = self._orders.lists.arrays.options
            spread = options.packs[options.at[:-1] + option] == PACKS_LAST
            packed = (best.used == 1) & ~spread & (self._packed >= 0)
            order = np.argsort(best.starts, kind="stable")
            self._orders.begin(order, np.where(packed, self._packed, option))
        elif stagnant and self._kind == ANEW:
            self._orders.begin(*self._starts[below_plain(self._generator, len(self._starts))])

    def _server_turn(self, best: Solution | None, bound: int) -> _ServerTurn:
        """Start a turn over servers: from the best order or solution, or with jobs dealt anew."""
        solution = (
            best if best is not None and self._kind == BEST_SOLUTION else self._decoded(CURRENT)
        )
        blocks = None
        shuffles = self._kind == ANEW and not self._layout.packed.all()
        if shuffles and below_plain(self._generator, 2) == 0:
            solution = self._shuffled() or solution
        if self._kind == ANEW or (self._heats and self._packed_bound <= bound):
            solution, packing = rings_alone(self._layout, solution)
            blocks = new_blocks(self._layout, packing, self._generator)
            if self._heats:
                pack_blocks(self._layout, blocks, packing)
                blocks = None
        else:
            packing = packing_of(self._layout, solution)
        annealing = HOT if self._heats else COOL
        if blocks is None:
            length = min(self._longest_server_turn, self._most_server_steps)
            self._longest_server_turn *= 2
        else:
            annealing, length = NESTED, self._longest_block_turn
            self._longest_block_turn = min(2 * self._longest_block_turn, self._most_block_steps)
        turn = _ServerTurn(solution, packing, blocks, annealing, length)
        self._heat(turn, NEVER if best is None else best.makespan, bound)
        return turn

    def _heat(self, turn: _ServerTurn, incumbent: int, bound: int) -> None:
        """Start to anneal."""
        self._steps = turn.length
        moves = self._moves if turn.blocks is None else BLOCK_MOVES
        turn.temperature, turn.cooling = turn.annealing.heat(self._layout, moves * turn.length)
        turn.target = self._aim(incumbent, bound, turn.annealing.targets)

    def _anneal(self, turn: _ServerTurn, incumbent: int, bound: int) -> Solution | None:
        """A step over servers."""
        if turn.target >= incumbent:
            turn.target = self._aim(incumbent, bound, turn.annealing.targets)
        heat = turn.temperature, turn.cooling, self._generator, self._stop
        if turn.blocks is not None:
            moves = BLOCK_MOVES
            done = anneal_blocks(self._layout, turn.blocks, turn.target, moves, *heat)
        else:
            moves = self._moves
            done = anneal_servers(self._layout, turn.packing, turn.target, moves, *heat)
        turn.temperature *= turn.cooling**moves
        if not done and self._steps > 0:
            return None
        if turn.blocks is not None:
            pack_blocks(self._layout, turn.blocks, turn.packing)
        settle(self._layout, turn.packing, turn.target)
        solution = solution_of(self._layout, turn.skeleton, turn.packing)
        if turn.blocks is not None and not done:
            # What is left past the target, an exchange that is not nested may mend.
            turn.blocks, turn.annealing = None, COOL
            turn.length = min(SERVER_STEPS, self._most_server_steps)
            self._heat(turn, incumbent, bound)
        if solution.makespan >= incumbent:
            if done:
                self._steps = 0  # The packed jobs keep to the target, but the spread rings do not.
            return None
        if done:
            self._heat(turn, solution.makespan, bound)
        return solution
