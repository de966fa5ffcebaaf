"""Jobs packed by a target on blocks of which some are joined: a flow, as in `block_program`.

`joined_blocks` says what blocks may do. The program counts blocks that are alike, and forgets their
servers. They are dealt afterwards: a block is joined with one of its own servers where it can be.
Jobs that spread nevertheless may take longer than the program assumes. So the servers are often
dealt again (see `dealing`), and only the engine knows whether a packing meets the target.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from rarmodel.engine.arrays import Floats, Ints

from .block_program import MOST_COLUMNS, Packed
from .block_sizes import Kind, nested_sizes, parts
from .flow_rows import UNLIMITED, integer_program
from .joined_blocks import Blocks, Problem, Step, steps_of

Block = Counter[int]
"""GPUs of one block by server."""


class JoinedProgram:
    """The program for some servers and jobs.

    Parameters
    ----------
    gpus
        (servers) GPUs of each.
    kinds
        (jobs) Kind of each; all sizes are nested.
    joinable
        The kinds whose jobs may run on joined blocks.
    target
        Slot by which all jobs must end.
    widest
        The greatest size of joined blocks.

    Attributes
    ----------
    kinds
        (jobs) As above.
    sizes
        (steps) The size to which each step belongs.
    joins
        (steps) Whether the step joins blocks.
    """

    def __init__(
        self,
        gpus: Sequence[int],
        kinds: Sequence[Kind],
        joinable: Collection[Kind],
        target: int,
        widest: int,
    ) -> None:
        self.kinds = kinds
        nested = nested_sizes(gpus, [kind.size for kind in kinds])
        self._blocks = [parts(many, nested) for many in gpus]
        blocks = Counter(size for sizes in self._blocks for size in sizes)
        jobs, widest = Counter(kinds), max((size for size in nested if size <= widest), default=0)
        self._problem = Problem(nested, blocks, jobs, frozenset(joinable), widest, target)
        self._steps = steps_of(self._problem, MOST_COLUMNS)
        self.sizes: Ints = np.array([step.size for step in self._steps])
        self.joins = np.array([step.many > 1 for step in self._steps])

    @property
    def too_large(self) -> bool:
        """Whether the program would have too many variables; then it cannot be solved."""
        return len(self._steps) > MOST_COLUMNS

    @property
    def nested(self) -> list[int]:
        """Sizes of blocks, descending."""
        return self._problem.nested

    @property
    def rests(self) -> Floats:
        """(steps) How many of the smallest blocks a step leaves idle until the target."""
        return np.array([float(step.given is None) for step in self._steps])

    def model(self) -> Any:
        """The integer program for the solver, without costs."""
        problem = self._problem
        firsts = {problem.first(size): many for size, many in problem.blocks.items()}
        rows: dict[Blocks | Kind, tuple[float, float]] = {
            step.taken: (-float(firsts.get(step.taken, 0)), UNLIMITED) for step in self._steps
        }
        rows |= {kind: (float(many), float(many)) for kind, many in problem.jobs.items()}
        return integer_program(rows, ((_entries(step), self._most(step)) for step in self._steps))

    def _most(self, step: Step) -> float:
        """Most units of flow in a step."""
        return float(self._problem.jobs[step.job]) if step.job else UNLIMITED

    def packed(self, flow: Sequence[int]) -> Packed:
        """The packing of a flow, with servers."""
        target = self._problem.target
        unplaced: dict[Kind, list[int]] = defaultdict(list)
        for job, kind in enumerate(self.kinds):
            unplaced[kind].append(job)
        starts = np.zeros(len(self.kinds), np.int64)
        workers: list[dict[int, int]] = [{} for _ in self.kinds]
        here: dict[Blocks, list[Block]] = defaultdict(list)
        for server, sizes in enumerate(self._blocks):
            for size in sizes:
                here[self._problem.first(size)].append(Counter({server: size}))
        # Steps are sorted, and none leads back, so all blocks that a step takes are there.
        for step, units in zip(self._steps, flow, strict=True):
            for _ in range(units):
                block = _taken(here[step.taken], step)
                if step.job:
                    job = unplaced[step.job].pop()
                    starts[job], workers[job] = target - step.taken.left, dict(block)
                if step.given:
                    here[step.given] += _divided(block, step.pieces)
        return Packed(starts, workers)


def _entries(step: Step) -> Counter[Blocks | Kind]:
    """What a unit of flow adds to each row."""
    entries = Counter[Blocks | Kind]({step.taken: -step.many})
    if step.job:
        entries[step.job] += 1
    if step.given:
        entries[step.given] += step.pieces
    return entries


def _taken(blocks: list[Block], step: Step) -> Block:
    """Take the blocks of a step that have the fewest servers together; return them as one."""
    if step.job or step.many > 1:
        groups = combinations(range(len(blocks)), step.many)
        chosen = min(groups, key=lambda group: len(set().union(*(blocks[i] for i in group))))
    else:
        # What runs no job yet may as well be of many servers.
        chosen = (max(range(len(blocks)), key=lambda index: len(blocks[index])),)
    taken = sum((blocks[index] for index in chosen), Counter[int]())
    for index in reversed(chosen):
        del blocks[index]
    return taken


def _divided(block: Block, pieces: int) -> list[Block]:
    """A block in equal pieces, each of as few servers as possible."""
    gpus, size = sorted(block.elements()), block.total() // pieces
    return [Counter(gpus[first : first + size]) for first in range(0, len(gpus), size)]
