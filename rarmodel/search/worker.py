"""One thread of the search: by turns it searches over orders and over servers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rarmodel.engine import NEVER, Arrays, new_state
from rarmodel.engine.arrays import Ints

from .decode import decode
from .draw import Draws
from .layout import PACK, SPREAD, Layout, new_work
from .packed import dealt_out, packing_of, plan_of
from .plan import Plan, decoded
from .reorder import BEST, CURRENT, NOTHING, SHORTEST, new_orders, reorder
from .repack import Packing, repack, settle

REORDER_WORK = 100_000
"""Jobs scheduled in one step of the search over orders, about: less than 0.1 s."""
REPACK_WORK = 8_000_000
"""The same for the search over servers, whose moves take time with the square of jobs a server."""
FEWEST_MOVES = 50
MOST_REPACK_WORK = 3e8
"""Where jobs times jobs a server are more, placing them all once takes too long to search with."""
REORDER_STEPS, MOST_REORDER_STEPS = 20, 160
REPACK_STEPS, MOST_REPACK_STEPS = 60, 480
"""Steps of a turn: of the first one, and the most; each turn is twice as long as the last of its
kind. A turn over servers that reaches its target begins anew with another."""
MANY_JOBS = 2_000
"""With more jobs, turns over orders get shorter, as one more order then tells little, and turns
over servers longer, as every server is to have its share of the moves."""
TARGETS = (0.5, 0.25, 0.75, 0.0)
"""How far between incumbent (0) and bound (1) the targets of successive turns lie."""
HOT, COLD = 0.02, 0.002
"""First and last temperature as a part of the mean execution time."""


@dataclass
class _ServerTurn:
    """A turn over servers."""

    skeleton: Plan
    packing: Packing
    length: int
    """Steps."""
    target: int
    temperature: float
    cooling: float
    """Factor of the temperature from one move to the next."""


class Worker:
    """State of one thread's search.

    Parameters
    ----------
    arrays, layout
        The instance.
    index
        Number of the thread.
    order, mode
        (jobs) Where to start from.
    draws
        The thread's random numbers.
    """

    def __init__(
        self, arrays: Arrays, layout: Layout, index: int, order: Ints, mode: Ints, draws: Draws
    ) -> None:
        self._arrays, self._layout, self._index, self._draws = arrays, layout, index, draws
        self._state, self._work = new_state(arrays), new_work(arrays, layout)
        self._orders = new_orders(order, mode)
        self._turn = 0
        many = max(1.0, len(layout.size) / MANY_JOBS)
        self._steps = self._longest_reorder = max(2, int(REORDER_STEPS / many))
        self._most_reorder = max(2, int(MOST_REORDER_STEPS / many))
        self._longest_repack = int(REPACK_STEPS * many)
        self._most_repack = int(MOST_REPACK_STEPS * many)
        self._target = 0
        self._servers: _ServerTurn | None = None
        per_server = len(layout.size) / len(layout.server_gpus)
        self._moves = max(FEWEST_MOVES, int(REPACK_WORK / (per_server**2 + 50)))
        self._repacks = bool(layout.packed.any()) and (
            len(layout.size) * per_server <= MOST_REPACK_WORK
        )

    def step(self, best: Plan | None, bound: int) -> Plan | None:
        """Search for a moment; a plan if one shorter than the best was found.

        Parameters
        ----------
        best
            The shortest plan known to any thread; None if there is none.
        bound
            A lower bound on the makespan in slots.
        """
        incumbent = NEVER if best is None else best.makespan
        if self._steps == 0:
            self._turn += 1
            if self._servers is None and self._repacks and self._orders.excess[BEST] < NOTHING:
                self._servers = self._server_turn(best, bound)
            else:
                self._servers = None
                self._longest_reorder = min(2 * self._longest_reorder, self._most_reorder)
                self._steps = self._longest_reorder
                if best is not None and self._kind == 1:
                    self._reorder_from(best)
        self._steps -= 1
        if self._servers is not None:
            return self._repack(self._servers, incumbent, bound)
        return self._reorder(incumbent, bound)

    def _aim(self, incumbent: int, bound: int) -> int:
        """The makespan to try for."""
        if incumbent == NEVER:
            return bound
        part = TARGETS[(self._index + self._turn) % len(TARGETS)]
        return max(bound, incumbent - 1 - int((incumbent - 1 - bound) * part))

    def _reorder(self, incumbent: int, bound: int) -> Plan | None:
        """A step over orders."""
        orders = self._orders
        target = self._aim(incumbent, bound)
        if target != self._target:
            self._target = target
            orders.excess[:] = NOTHING
        reorder(
            self._arrays,
            self._state,
            self._layout,
            self._work,
            orders,
            target,
            max(1, REORDER_WORK // (len(self._layout.size) + 40)),
            self._draws,
        )
        return self._decoded(SHORTEST) if orders.makespan[0] < incumbent else None

    def _decoded(self, row: int) -> Plan:
        """The plan of one of the orders."""
        genes = (self._orders.order[row], self._orders.mode[row], self._orders.earliest[row])
        decode(self._arrays, self._state, self._layout, self._work, *genes, NEVER)
        return decoded(self._layout, self._work, self._state)

    @property
    def _kind(self) -> int:
        """Where a turn begins: thread after thread, and turn after turn, elsewhere."""
        return (self._turn // 2 + self._index) % 3

    def _reorder_from(self, best: Plan) -> None:
        """Go on with the order in which the best plan starts the jobs."""
        orders = self._orders
        orders.order[CURRENT] = np.argsort(best.starts, kind="stable")
        packed = (best.used == 1) & (orders.mode[CURRENT] != SPREAD)
        orders.mode[CURRENT] = np.where(packed, PACK, orders.mode[CURRENT])
        orders.earliest[CURRENT] = 0
        orders.excess[:] = NOTHING

    def _server_turn(self, best: Plan | None, bound: int) -> _ServerTurn:
        """Begin a turn over servers: from the best order or plan, or with jobs dealt out anew."""
        plan = best if best is not None and self._kind == 1 else self._decoded(BEST)
        if self._kind == 2:
            plan, packing = dealt_out(self._layout, plan, self._draws)
        else:
            packing = packing_of(self._layout, plan)
        turn = _ServerTurn(plan, packing, self._longest_repack, 0, 0.0, 1.0)
        self._heat(turn, NEVER if best is None else best.makespan, bound)
        self._longest_repack = min(2 * self._longest_repack, self._most_repack)
        return turn

    def _heat(self, turn: _ServerTurn, incumbent: int, bound: int) -> None:
        """Begin to anneal."""
        self._steps = turn.length
        turn.temperature = HOT * float(self._layout.packed.mean())
        turn.cooling = (COLD / HOT) ** (1 / (self._moves * turn.length))
        turn.target = self._aim(incumbent, bound)

    def _repack(self, turn: _ServerTurn, incumbent: int, bound: int) -> Plan | None:
        """A step over servers."""
        if turn.target >= incumbent:
            turn.target = self._aim(incumbent, bound)
        done = repack(
            self._layout,
            turn.packing,
            turn.target,
            self._moves,
            turn.temperature,
            turn.cooling,
            self._draws,
        )
        turn.temperature *= turn.cooling**self._moves
        if not done and self._steps > 0:
            return None
        settle(self._layout, turn.packing, turn.target)
        plan = plan_of(self._layout, turn.skeleton, turn.packing)
        if plan.makespan >= incumbent:
            self._steps = 0  # If the packed jobs keep to the target, the spread rings do not.
            return None
        if done:
            self._heat(turn, plan.makespan, bound)
        return plan
