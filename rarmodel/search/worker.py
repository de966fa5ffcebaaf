"""One thread of the search: by turns it searches over orders and over servers."""

from __future__ import annotations

from dataclasses import dataclass

from rarmodel.engine import NEVER, Arrays, new_state
from rarmodel.engine.arrays import Ints

from .decode import decode
from .draw import Draws
from .layout import Layout, new_work
from .packed import dealt_out, packing_of, plan_of
from .plan import Plan, decoded
from .reorder import BEST, NOTHING, SHORTEST, new_orders, reorder
from .repack import Packing, repack, settle

REORDER_WORK = 100_000
"""Jobs scheduled in one step of the search over orders, about: less than 0.1 s."""
REPACK_WORK = 8_000_000
"""The same for the search over servers, whose moves take time with the square of jobs a server."""
FEWEST_MOVES = 50
MOST_REPACK_WORK = 3e8
"""Where jobs times jobs a server are more, placing them all once takes too long to search with."""
REORDER_STEPS, REPACK_STEPS, MOST_REPACK_STEPS = 20, 60, 480
"""Steps of a turn; each further turn over servers is twice as long as the one before. A turn
over servers that reaches its target begins anew with another."""
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
        self._steps = REORDER_STEPS
        self._target = 0
        self._servers: _ServerTurn | None = None
        self._length = REPACK_STEPS
        per_server = len(layout.size) / len(layout.server_gpus)
        self._moves = max(FEWEST_MOVES, int(REPACK_WORK / (per_server**2 + 50)))
        self._repacks = bool(layout.packed.any()) and (
            len(layout.size) * per_server <= MOST_REPACK_WORK
        )

    def step(self, incumbent: int, bound: int) -> Plan | None:
        """Search for a moment; a plan if one shorter than the incumbent was found.

        Parameters
        ----------
        incumbent
            The least makespan known in slots; `NEVER` if none is.
        bound
            A lower bound on it.
        """
        if self._steps == 0:
            self._turn += 1
            self._steps = REORDER_STEPS
            if self._servers is None and self._repacks and self._orders.excess[BEST] < NOTHING:
                self._servers = self._server_turn(incumbent, bound)
            else:
                self._servers = None
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

    def _server_turn(self, incumbent: int, bound: int) -> _ServerTurn:
        """Begin a turn over servers: from the best order, or with all jobs dealt out anew."""
        plan = self._decoded(BEST)
        if (self._turn // 2 + self._index) % 2 == 1:
            plan, packing = dealt_out(self._layout, plan, self._draws)
        else:
            packing = packing_of(self._layout, plan)
        turn = _ServerTurn(plan, packing, self._length, 0, 0.0, 1.0)
        self._heat(turn, incumbent, bound)
        self._length = min(2 * self._length, MOST_REPACK_STEPS)
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
