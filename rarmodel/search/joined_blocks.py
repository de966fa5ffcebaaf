"""The steps of blocks that are joined across servers, for jobs that spread at no cost.

A job is *easy* if it takes no more slots on two servers, beside another ring on each link, than on
one. Many rings of slow iterations and small gradients are. An easy job needs no buddies: any blocks
that are idle at the same slot will do. So there are more packings than on buddy blocks alone.

Blocks start *within* one server, where they run any jobs and are divided. Then they may become
parts of greater blocks. They *arrive* at a slot, are joined or not, and are *ready* to run an easy
job, after which they arrive again, or to be divided. So no step leads back to blocks that were
there at the same slot before, and the flow of a program has no cycles.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from .block_sizes import Kind

WITHIN, ARRIVED, READY = range(3)
"""Stages of a block: of one server; before it is joined; before it runs an easy job."""


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
    easy: frozenset[Kind]
    """The kinds whose jobs are easy."""
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
        hard = any(kind.size <= size and not self.runs_joined(kind) for kind in self.jobs)
        return WITHIN if hard else self.joinable(size)

    def joinable(self, size: int) -> int:
        """The stage at which blocks of a size begin once they need not be of one server."""
        return ARRIVED if size < self.widest else READY

    def runs_joined(self, kind: Kind) -> bool:
        """Whether the jobs of a kind run on blocks that may be joined."""
        return kind.size <= self.widest and (kind.size == 1 or kind in self.easy)


def steps_of(problem: Problem, most: int) -> list[Step]:
    """All steps that can be reached; of too many, some more than `most`."""
    shortest = min(kind.slots for kind in problem.jobs)
    waiting = [problem.first(size) for size in problem.blocks]
    known, steps = set(waiting), list[Step]()
    bigger = {small: big for big, small in pairwise(problem.nested)}
    smaller = dict(pairwise(problem.nested))
    kinds: dict[int, list[Kind]] = defaultdict(list)
    for kind in sorted(problem.jobs):
        kinds[kind.size].append(kind)

    def runs(blocks: Blocks, stage: int) -> Iterator[Step]:
        for kind in kinds[blocks.size]:
            if kind.slots <= blocks.left and (stage == WITHIN or problem.runs_joined(kind)):
                given = Blocks(stage, blocks.size, blocks.left - kind.slots)
                yield Step(blocks, job=kind, given=given)

    def divisions(blocks: Blocks) -> Iterator[Step]:
        if size := smaller.get(blocks.size):
            stage = problem.stage(size) if blocks.stage == WITHIN else READY
            given = Blocks(stage, size, blocks.left)
            yield Step(blocks, given=given, pieces=blocks.size // size)

    def joins(blocks: Blocks) -> Iterator[Step]:
        size = bigger[blocks.size]
        given = Blocks(problem.joinable(size), size, blocks.left)
        yield Step(blocks, size // blocks.size, given=given)

    def nexts(blocks: Blocks) -> Iterator[Step]:
        stage, size, left = blocks
        ready = blocks._replace(stage=READY)
        if stage == WITHIN:
            opened = blocks._replace(stage=problem.joinable(size))
            opens = (Step(blocks, given=opened),) if size <= problem.widest else ()
            yield from chain(runs(blocks, WITHIN), divisions(blocks), opens)
        elif stage == ARRIVED:
            yield from chain(joins(blocks), (Step(blocks, given=ready),))
        else:
            yield from chain(runs(blocks, problem.joinable(size)), divisions(blocks))
        if left == problem.target and size == problem.nested[-1] and stage != ARRIVED:
            yield Step(blocks)

    while waiting and len(steps) <= most:
        blocks = waiting.pop()
        for step in nexts(blocks):
            steps.append(step)
            given = step.given
            if given and given.left >= shortest and given not in known:
                known.add(given)
                waiting.append(given)
    return sorted(steps, key=lambda step: step.taken.order)
