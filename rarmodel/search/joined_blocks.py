"""The steps of blocks that are joined across servers, for jobs that need no block of one server.

A job is *easy* if it takes no more slots on two servers, beside another ring on each link, than on
one. Many rings of slow iterations and small gradients are. An easy job needs no buddies: any blocks
that are idle at the same slot will do. Nor do most narrow jobs, easy or not: among all idle blocks
of a slot, `dealing` finds some of one server later. So there are more packings than on buddy blocks
alone. The program says which jobs are *joinable*, that is, may run on joined blocks.

Blocks start *within* one server, where they run any jobs and are divided. Then they may become
parts of greater blocks. They *arrive* at a slot, are joined or not, and are *ready* to run a
joinable job, after which they arrive again, or to be divided. So no step leads back to blocks that
were there at the same slot before, and the flow of a program has no cycles.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .block_sizes import Kind, runs_in_order

WITHIN, ARRIVED, READY = range(3)
"""Stages of a block: of one server; before it is joined; before it runs a joinable job."""


class Blocks(NamedTuple):
    """Blocks that are alike."""

    stage: int
    """`WITHIN`, `ARRIVED` or `READY`."""
    size: int
    """GPUs of each."""
    left: int
    """Slots left before the target."""

    @property
    def order(self) -> tuple[int, int, int]:
        """Of two blocks, the one whose steps come first: in time, and within a slot."""
        return -self.left, self.stage, self.size if self.stage == ARRIVED else -self.size


class Step(NamedTuple):
    """What blocks may do next: run a job, be divided, be joined, change their stage, or rest."""

    taken: Blocks
    """The blocks."""
    many: int = 1
    """Number of blocks that are joined."""
    job: Kind | None = None
    """The job that runs."""
    given: Blocks | None = None
    """The blocks that this leaves; None if they rest until the target."""
    pieces: int = 1
    """Number of blocks that it leaves."""

    @property
    def size(self) -> int:
        """The size to which the step belongs: that of the greatest block."""
        return max(self.taken.size, self.given.size if self.given else 0)


class Problem(NamedTuple):
    """Jobs to pack by a target, on blocks of which some are joined."""

    nested: list[int]
    """Sizes of blocks, descending; each one divides the one before."""
    blocks: Counter[int]
    """Number of blocks by size."""
    jobs: Counter[Kind]
    """Number of jobs by kind; all sizes are nested."""
    joinable: frozenset[Kind]
    """The kinds whose jobs may run on joined blocks."""
    widest: int
    """The greatest size of joined blocks."""
    target: int
    """Slot by which all jobs must end."""

    def first(self, size: int) -> Blocks:
        """The blocks of a size at slot 0."""
        return Blocks(self.stage(size), size, self.target)

    def stage(self, size: int) -> int:
        """The stage at which blocks of a size begin."""
        if size > self.widest:
            return WITHIN
        bound = any(kind.size <= size and not self.runs_joined(kind) for kind in self.jobs)
        return WITHIN if bound else self.opened(size)

    def opened(self, size: int) -> int:
        """The stage at which blocks of a size begin once they need not be of one server."""
        return ARRIVED if size < self.widest else READY

    def runs_joined(self, kind: Kind) -> bool:
        """Whether the jobs of a kind run on blocks that may be joined."""
        return kind.size <= self.widest and (kind.size == 1 or kind in self.joinable)


def steps_of(problem: Problem, most: int) -> list[Step]:
    """All steps that can be reached; of too many, some more than `most`."""
    shortest = min(kind.slots for kind in problem.jobs)
    steps = dict[Step, None]()
    within: dict[int, set[int]] = defaultdict(set)
    known, waiting = set[Blocks](), list[Blocks]()

    def reach(blocks: Blocks) -> None:
        if blocks.stage == WITHIN:
            within[blocks.size].add(blocks.left)
        elif blocks.left >= shortest and blocks not in known:
            known.add(blocks)
            waiting.append(blocks)

    def take(some: Iterable[Step]) -> None:
        for step in some:
            if len(steps) > most:
                return
            steps[step] = None
            if step.given:
                reach(step.given)

    for size in problem.blocks:
        reach(problem.first(size))
    for size in problem.nested:
        lefts = within[size]
        take(
            _run(kind, Blocks(WITHIN, size, left), WITHIN)
            for kind, left in runs_in_order(size, problem.jobs, lefts)
        )
        take(
            step
            for left in sorted(lefts)
            if left >= shortest
            for step in _within(problem, Blocks(WITHIN, size, left))
        )
    while waiting and len(steps) <= most:
        take(_joined(problem, waiting.pop()))
    return sorted(steps, key=lambda step: step.taken.order)


def _run(kind: Kind, blocks: Blocks, stage: int) -> Step:
    """A job runs; the block is in a stage then."""
    return Step(blocks, job=kind, given=Blocks(stage, blocks.size, blocks.left - kind.slots))


def _within(problem: Problem, blocks: Blocks) -> Iterator[Step]:
    """The steps of blocks of one server that run nothing more as they are."""
    yield from _divisions(problem, blocks)
    if blocks.size <= problem.widest:
        yield Step(blocks, given=blocks._replace(stage=problem.opened(blocks.size)))


def _joined(problem: Problem, blocks: Blocks) -> Iterator[Step]:
    """The steps of blocks that may be joined, or have been."""
    size = blocks.size
    if blocks.stage == ARRIVED:
        bigger = problem.nested[problem.nested.index(size) - 1]
        given = Blocks(problem.opened(bigger), bigger, blocks.left)
        yield Step(blocks, bigger // size, given=given)
        yield Step(blocks, given=blocks._replace(stage=READY))
        return
    for kind in sorted(problem.jobs):
        if kind.size == size and kind.slots <= blocks.left and problem.runs_joined(kind):
            yield _run(kind, blocks, problem.opened(size))
    yield from _divisions(problem, blocks)


def _divisions(problem: Problem, blocks: Blocks) -> Iterator[Step]:
    """Blocks divided into blocks of the next smaller size; the smallest ones may rest instead."""
    if blocks.size > problem.nested[-1]:
        size = problem.nested[problem.nested.index(blocks.size) + 1]
        stage = problem.stage(size) if blocks.stage == WITHIN else READY
        given = Blocks(stage, size, blocks.left)
        yield Step(blocks, given=given, pieces=blocks.size // size)
    elif blocks.left == problem.target:
        yield Step(blocks)
