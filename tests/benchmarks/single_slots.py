"""The most that the bound `configurations` can prove, where it is too slow to be computed.

`python tests/benchmarks/single_slots.py spread [--seeds N] [--first N]`

`configurations` refutes a length if the optimum of a linear program is above it: slots of what can
run together must give each job its iterations. With some of these slots alone the optimum is no
lower. So if they are enough for a length, `configurations` does not refute it, nor does any weaker
bound that looks at slots one by one. HiGHS looks for slots that help: it counts what the servers
hold, and takes a ring as alone, or as beside one other. Then it puts their jobs on the servers,
and keeps those for which that works.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from time import perf_counter
from typing import Any

import numpy as np

import rarmodel
from rarmodel.bounds.column_program import ColumnProgram, Floats
from rarmodel.bounds.patterns import cheapest_pattern
from rarmodel.bounds.ring_states import RingState, Spreading, ring_states
from rarmodel.bounds.server_configurations import ServerConfigurations
from rarmodel.highs_library import highspy, silent_highs
from rarmodel.schema import Instance

SCALE = 10**6
NOISE = 1e-6
INWARD = 0.7
"""How far prices stay at the best ones so far: fewer rounds are then needed."""
PACKED, LONE, SHARING = "packed", "lone", "sharing"
Piece = tuple[str, int]
"""A kind, and the GPUs that a job of it has on one server."""
Slot = tuple[int, ...]
"""Numbers of the states of the jobs that run in a slot."""


def kind_of(state: RingState) -> str:
    """How a job in a state shares servers."""
    return PACKED if state.servers == 1 else LONE if state.rings == 1 else SHARING


@cache
def cuts(gpus: int, pieces: int, largest: int) -> list[tuple[int, ...]]:
    """The ways to cut a ring into so many pieces, the greatest first."""
    if pieces == 0:
        return [()] if gpus == 0 else []
    found = range(min(largest, gpus - pieces + 1), 0, -1)
    return [(one, *rest) for one in found for rest in cuts(gpus - one, pieces - 1, one)]


def contents(gpus: int, sizes: list[int]) -> list[Counter[Piece]]:
    """The fullest contents of a server: packed jobs, and a lone piece or up to two sharing ones."""

    def packed(room: int, largest: int) -> Iterator[tuple[Piece, ...]]:
        yield ()
        for size in sizes:
            if size <= min(room, largest):
                yield from (((PACKED, size), *rest) for rest in packed(room - size, size))

    found = []
    for jobs in packed(gpus, gpus):
        room = gpus - sum(size for _, size in jobs)
        found.append(Counter(jobs))
        found += [Counter((*jobs, (LONE, one))) for one in range(1, room + 1)]
        for pieces in (1, 2):
            for total in range(pieces, room + 1):
                shared = cuts(total, pieces, gpus)
                found += [Counter((*jobs, *((SHARING, one) for one in cut))) for cut in shared]
    return [one for one in found if not any(one < other for other in found)]


class Slots:
    """The slots of an instance: what can run together.

    Parameters
    ----------
    instance
        The problem.
    states
        The states of all jobs: job and state.
    """

    def __init__(self, instance: Instance, states: list[tuple[int, RingState]]) -> None:
        self._states = states
        self._unfit: list[Slot] = []
        self._gpus = [server.gpus for server in instance.cluster.servers]
        sizes = sorted({state.size for _, state in states if state.servers == 1})
        self._contents = {gpus: contents(gpus, sizes) for gpus in set(self._gpus)}

    def dearest(self, prices: Floats) -> Slot:
        """The dearest slot by counts, but for those known not to fit the servers."""
        program = _program()
        taken = {i: program.addBinary() for i in np.flatnonzero(prices > NOISE).tolist()}
        by_job, by_form = defaultdict(list), defaultdict(list)
        for i, variable in taken.items():
            job, state = self._states[i]
            by_job[job].append(variable)
            by_form[kind_of(state), state.size, state.servers].append(variable)
        for variables in by_job.values():
            program.addConstr(sum(variables) <= 1)
        balance: dict[Piece, list[Any]] = defaultdict(list)
        for gpus, count in Counter(self._gpus).items():
            numbers = [program.addIntegral(0, count) for _ in self._contents[gpus]]
            for content, servers in zip(self._contents[gpus], numbers, strict=True):
                for piece, number in content.items():
                    balance[piece].append(-number * servers)
            program.addConstr(sum(numbers) <= count)
        for (kind, size, servers), variables in by_form.items():
            ways = cuts(size, servers, max(self._gpus))
            numbers = [program.addIntegral(0, len(variables)) for _ in ways]
            program.addConstr(sum(numbers) == sum(variables))
            for cut, number in zip(ways, numbers, strict=True):
                for gpus, pieces in Counter(cut).items():
                    balance[kind, gpus].append(pieces * number)
        for terms in balance.values():
            program.addConstr(sum(terms) <= 0)
        for slot in self._unfit:
            if all(i in taken for i in slot):
                program.addConstr(sum(taken[i] for i in slot) <= len(slot) - 1)
        program.maximize(sum(float(prices[i]) * one for i, one in taken.items()))
        values = program.getSolution().col_value
        return tuple(i for i, one in taken.items() if values[one.index] > 1 / 2)

    def fits(self, slot: Slot) -> bool:
        """Whether the jobs of a slot can be put on the servers, in their states."""
        program = _program()
        held: list[list[Any]] = [[] for _ in self._gpus]
        rings: list[list[Any]] = [[] for _ in self._gpus]
        for i in slot:
            state = self._states[i][1]
            most = state.size - state.servers + 1
            pieces = [program.addIntegral(0, min(most, gpus)) for gpus in self._gpus]
            on = [program.addBinary() for _ in self._gpus]
            program.addConstr(sum(pieces) == state.size)
            program.addConstr(sum(on) == state.servers)
            for s, gpus in enumerate(self._gpus):
                program.addConstr(pieces[s] <= min(most, gpus) * on[s])
                program.addConstr(pieces[s] >= on[s])
                held[s].append(pieces[s])
                if state.servers > 1:
                    rings[s].append((2 if state.rings == 1 else 1) * on[s])
        for s, gpus in enumerate(self._gpus):
            program.addConstr(sum(held[s]) <= gpus)
            if rings[s]:  # A lone ring has the link to itself, and two at most share it.
                program.addConstr(sum(rings[s]) <= 2)
        program.run()
        if program.getModelStatus() == highspy().HighsModelStatus.kOptimal:
            return True
        self._unfit.append(slot)
        return False


class Program:
    """The linear program over the slots found so far.

    Parameters
    ----------
    instance
        The problem.
    """

    def __init__(self, instance: Instance) -> None:
        self._iterations = [job.iterations_left for job in instance.jobs]
        self._states: list[tuple[int, RingState]] = []
        self._spreadings: list[list[tuple[int, Spreading]]] = []
        for j, row in enumerate(ring_states(instance, most_rings=2)):
            self._spreadings.append([])
            # Rings that spread further seldom help, and often leave no room for others.
            fewest = min((one[0].servers for one in row if one[0].servers > 1), default=1)
            for spreading in (one for one in row if one[0].servers <= fewest):
                self._spreadings[j].append((len(self._states), spreading))
                self._states += [(j, state) for state in spreading]
        self._slots = Slots(instance, self._states)
        self._found: dict[Slot, None] = {(i,): None for i in range(len(self._states))}

    def enough(self, length: int) -> bool:
        """Whether slots are found that are enough for a length."""
        states, jobs = len(self._states), len(self._iterations)
        program = ColumnProgram([0.0] * states + [1.0] * jobs, [1])
        for slot in self._found:
            program.add(dict.fromkeys(slot, 1.0), 0)
        for j in range(jobs):
            for _, column in self._patterns(j, np.zeros(states), length):
                program.add(column)
        best, center = 0.0, None
        while (solution := program.solve()) and solution.multiple > length:
            own, worths = solution.prices[:states], solution.prices[states:]
            tries = [own] if center is None else [INWARD * center + (1 - INWARD) * own, own]
            for prices in tries:
                slot = self._slots.dearest(prices)
                added = bool(own[list(slot)].sum() > 1 + NOISE)
                if added and self._slots.fits(slot):
                    program.add(dict.fromkeys(slot, 1.0), 0)
                    self._found[slot] = None
                total = 0.0
                for j, worth in enumerate(worths):
                    price, column = min(self._patterns(j, prices, length), key=itemgetter(0))
                    total += price
                    if -sum(own[i] * n for i, n in column.items() if i < states) < worth - NOISE:
                        program.add(column)
                        added = True
                if total / prices[list(slot)].sum() > best:
                    best, center = total / prices[list(slot)].sum(), prices
                if added:
                    break
            else:
                return False
        return solution is not None

    def _patterns(
        self, j: int, prices: Floats, length: int
    ) -> list[tuple[float, dict[int, float]]]:
        """The cheapest way to run a job on so many servers, for each: its price, and a column."""
        found = []
        whole = np.floor(prices * SCALE).astype(np.int64)
        for first, spreading in self._spreadings[j]:
            own = whole[first : first + len(spreading)]
            pattern = cheapest_pattern(spreading, own, self._iterations[j], length)
            if pattern is not None:
                column = {first + i: -number for i, number in enumerate(pattern.slots) if number}
                found.append((pattern.price / SCALE, column | {len(self._states) + j: 1.0}))
        return found


def _program() -> Any:
    program = silent_highs()
    program.setOptionValue("threads", 1)
    program.setOptionValue("mip_rel_gap", 0.0)
    return program


def main(options: argparse.Namespace) -> None:
    """Print a row for each instance."""
    print("| instance | server configurations | configurations, at most | seconds |")
    print("|---|---:|---:|---:|")
    for seed in range(options.first, options.first + options.seeds):
        instance = rarmodel.generate(options.family, seed=seed)
        begun = perf_counter()
        known = length = ServerConfigurations(instance).prove(0)
        program = Program(instance)
        while not program.enough(length):
            length += 1
        print(
            f"| {instance.name} | {known} | {length} | {perf_counter() - begun:.0f} |", flush=True
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    main(parser.parse_args())
