"""The columns of the program over buddy blocks: all that a block may do next.

Sizes that divide one another are *nested*. A job of such a size takes a block of its own size from
some slots left before the target to fewer. A block without a further job is divided into blocks of
the next smaller nested size.

Other sizes are *odd*. Jobs of one odd size run one after another at the front of a block of the
next greater nested size. The rest of that block is divided. After these jobs, either all of it is
one block again, or the GPUs of these jobs are divided, too, and the rest goes on as it is.

A *ring* here is a job that may spread. It has a piece on each of several blocks of nested sizes.
All pieces of a ring run at the very front of their blocks, or all at the very end.

Narrow jobs may come in bundles, instead of as single jobs. Then no block is divided into blocks as
narrow as they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise, product
from typing import NamedTuple

from .block_sizes import Kind, parts, runs_in_order
from .bundles import Bundle

MOST_PIECES = 6
"""Most pieces of a ring: it is the slower, the more servers it uses."""


class Ring(NamedTuple):
    """A job that may spread."""

    job: int
    """Index of the job."""
    kind: Kind
    """Its kind."""
    spread: tuple[int, ...]
    """Its execution time on two, three, … servers."""
    last: bool
    """Whether it ends at the target; if not, it starts at slot 0."""


class Piece(NamedTuple):
    """The part of a ring on one block."""

    ring: Ring
    size: int
    """GPUs."""
    slots: int
    """Execution time of the ring."""


class Head(NamedTuple):
    """Blocks that a column leaves."""

    size: int
    """GPUs of each."""
    left: int
    """Slots left on each."""
    many: int = 1
    """Number of blocks."""
    earlier: int = 0
    """Slots by which they end before the block that the column is about."""

    def mirrored(self, left: int) -> Head:
        """The blocks in reversed time, where the block of the column has so many slots left."""
        return self._replace(earlier=left - self.left - self.earlier)


class Column(NamedTuple):
    """What a block may do next, or into which pieces a ring may be cut."""

    size: int
    """GPUs of the block; 0 for a ring."""
    left: int
    """Slots left on the block; 0 for a ring."""
    heads: tuple[Head, ...] = ()
    """Blocks that this leaves."""
    jobs: tuple[Kind, ...] = ()
    """Jobs that run, one after another."""
    pieces: tuple[Piece, ...] = ()
    """Pieces of rings that run: one at the front of the block, one at its end, or both."""
    cut: tuple[Piece, ...] = ()
    """The pieces of the ring."""
    bundle: Bundle | None = None
    """The bundle that runs on this block and on others."""

    @property
    def idle(self) -> bool:
        """Whether the block runs nothing any more."""
        return not (self.heads or self.jobs or self.pieces or self.cut or self.bundle)


class Problem(NamedTuple):
    """Jobs to pack by a target, on blocks."""

    nested: list[int]
    """Sizes of blocks, descending; each one divides the one before."""
    blocks: Counter[int]
    """Number of blocks by size."""
    jobs: Counter[Kind]
    """Number of jobs by kind."""
    rings: Sequence[Ring]
    """Those that may spread."""
    target: int
    """Slot by which all jobs must end."""
    bundles: Sequence[Bundle] = ()
    """The ways to pack all narrower jobs on blocks of the last size, if there are such jobs."""

    @property
    def shortest(self) -> int:
        """Slots of the shortest job or item on one server; the target if all jobs must spread."""
        jobs = (kind.slots for kind in self.jobs if kind.slots)
        items = (item.slots for bundle in self.bundles for item in bundle.items)
        return min(chain(jobs, items), default=self.target)


def columns_of(problem: Problem, most: int) -> list[Column]:
    """All columns; of too many, some more than `most`."""
    reached: dict[int, set[int]] = defaultdict(set)
    for size in problem.blocks:
        reached[size].add(problem.target)
    columns = dict.fromkeys(cut for ring in problem.rings for cut in _cuts(problem, ring))
    pieces = list(dict.fromkeys(piece for column in columns for piece in column.cut))
    for index, size in enumerate(problem.nested):
        smaller = problem.nested[index + 1 :]
        own = reached[size]
        for column in chain(
            _of_pieces(size, smaller, own, pieces, problem.target),
            (
                Column(size, left, (Head(size, left - kind.slots),), (kind,))
                for kind, left in runs_in_order(size, problem.jobs, own)
            ),
            _of_odd_jobs(size, smaller, own, problem.jobs),
            _divisions(size, smaller, own, problem.shortest),
            _of_bundles(size, own, problem.bundles) if problem.bundles and not smaller else (),
            # An idle block: the linear program has as many as it can.
            () if smaller else (Column(size, problem.target),),
        ):
            columns[column] = None
            for head in column.heads:
                reached[head.size].add(head.left)
            if len(columns) > most:
                return list(columns)
    return list(columns)


def _cuts(problem: Problem, ring: Ring) -> Iterator[Column]:
    """The ways to cut a ring into pieces."""
    widest = max(problem.blocks, default=0)
    sizes = {*problem.nested, *(kind.size for kind in problem.jobs if kind.slots)}

    def cuts(gpus: int, sizes: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
        if gpus == 0:
            yield ()
        elif sizes and most:
            if sizes[0] <= gpus:
                yield from ((sizes[0], *cut) for cut in cuts(gpus - sizes[0], sizes, most - 1))
            yield from cuts(gpus, sizes[1:], most)

    usable = sorted((size for size in sizes if size <= widest), reverse=True)
    for cut in cuts(ring.kind.size, usable, min(MOST_PIECES, len(ring.spread) + 1)):
        slots = ring.spread[len(cut) - 2] if len(cut) > 1 else 0
        if 0 < slots <= problem.target:
            yield Column(0, 0, cut=tuple(Piece(ring, size, slots) for size in cut))


def _of_pieces(
    size: int, smaller: Sequence[int], own: set[int], pieces: Sequence[Piece], target: int
) -> Iterator[Column]:
    """Pieces on a block that has not run anything: at its front, at its end, or at both."""
    below = smaller[0] if smaller else 0
    here = [piece for piece in pieces if below < piece.size <= size and target in own]
    for piece in here:
        for heads in _after(size, smaller, target, piece.size, piece.slots):
            if piece.ring.last:
                mirrored = tuple(head.mirrored(target) for head in heads)
                yield Column(size, target, mirrored, pieces=(piece,))
            else:
                yield Column(size, target, heads, pieces=(piece,))
    whole = [piece for piece in here if piece.size == size]
    for first, last in product(whole, whole):
        left = target - first.slots - last.slots
        if left >= 0 and last.ring.last > first.ring.last:
            head = Head(size, left, earlier=last.slots)
            yield Column(size, target, (head,), pieces=(first, last))


def _after(
    size: int, smaller: Sequence[int], left: int, gpus: int, slots: int
) -> Iterator[tuple[Head, ...]]:
    """Blocks that are left where some GPUs of a block are taken for some slots, at its front."""
    after = left - slots
    if gpus == size:
        yield (Head(size, after),)
        return
    beside, freed = (Counter(parts(many, smaller)) for many in (size - gpus, gpus))
    yield (
        *(Head(part, after, many) for part, many in freed.items()),
        *(Head(part, left, many) for part, many in beside.items()),
    )
    if after:
        yield (
            Head(size, after),
            *(Head(part, slots, many, earlier=after) for part, many in beside.items()),
        )


def _of_odd_jobs(
    size: int, smaller: Sequence[int], own: set[int], count: Mapping[Kind, int]
) -> Iterator[Column]:
    """Jobs of an odd size on a block of the next greater nested size."""
    below, lefts = smaller[0] if smaller else 0, sorted(own)
    for odd in sorted({kind.size for kind in count if below < kind.size < size}):
        kinds = sorted((kind for kind in count if kind.size == odd), reverse=True)
        for jobs in _some(kinds, count, max(own, default=0)):
            slots = sum(kind.slots for kind in jobs)
            for left in lefts:
                if left >= slots:
                    for heads in _after(size, smaller, left, odd, slots):
                        yield Column(size, left, heads, jobs)


def _some(
    kinds: Sequence[Kind], count: Mapping[Kind, int], most: int
) -> Iterator[tuple[Kind, ...]]:
    """Every choice of at least one job that run in so many slots together."""
    for index, kind in enumerate(kinds):
        for many in range(1, min(count[kind], most // kind.slots) + 1):
            some = (kind,) * many
            yield some
            for more in _some(kinds[index + 1 :], count, most - many * kind.slots):
                yield (*some, *more)


def _divisions(size: int, smaller: Sequence[int], own: set[int], shortest: int) -> Iterator[Column]:
    """A block divided into blocks of the next smaller size."""
    if smaller:
        for left in sorted(own):
            if left >= shortest:
                yield Column(size, left, (Head(smaller[0], left, size // smaller[0]),))


def _of_bundles(size: int, own: set[int], bundles: Sequence[Bundle]) -> Iterator[Column]:
    """Bundles, and blocks that are idle for as long as an item of a bundle needs them to be."""
    items = {item.slots for bundle in bundles for item in bundle.items}
    least = min(items)
    enough = (left for left in own | items if left >= least)
    for longer, shorter in pairwise(sorted(enough, reverse=True)):
        yield Column(size, longer, (Head(size, shorter),))
    for bundle in bundles:
        yield Column(size, bundle.items[0].slots, bundle=bundle)
