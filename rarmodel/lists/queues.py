"""Jobs that wait, by what they ask for, so that an event need not try each of them.

Jobs that ask for the same (ring size, style, servers, spread, limits of what they use) wait in
one queue, the most urgent first. Where one of them finds no room, no other one of the queue does
until something completes or changes. Jobs join their queue once they are released and wait for no
other job.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.engine.compilation import compiled

from .server_bits import NO_BIT, ONE_BIT, Words, lowest_bit, words_for

_inner = partial(compiled, inner=True)

LATER, LEFT, OPEN, ASIDE, IN_USE = range(5)
"""Counters: jobs to be released; jobs not yet started; `open` and `aside`; queues in use."""


class Queues(NamedTuple):
    """Who waits; `empty_queues` fills it."""

    counters: Ints
    """(5) Sizes of the lists below."""
    queue: Ints
    """(jobs) Queue in which each waits."""
    size: Ints
    """(queues) Ring size of the jobs in each."""
    at: Ints
    """(queues + 1) Where each queue begins in `line`."""
    line: Ints
    """(jobs) Places in the order of all jobs of each queue, ascending, whether they wait or not."""
    place: Ints
    """(jobs) Place of each job there."""
    waits: Words
    """(words) Which of these wait, as bits."""
    first: Ints
    """(queues) Place of the first that waits; the end of the queue if none does."""
    filled: Words
    """(words) Queues with jobs that wait, as bits."""
    later_slot: Ints
    """(jobs) Binary heap of jobs that wait for a slot only: the slots."""
    later_job: Ints
    """(jobs) The jobs."""
    open: Ints
    """(queues) Scratch of a pass: ranks of the first jobs of queues to be tried, as a heap."""
    aside: Ints
    """(jobs) Scratch of a pass: jobs that must not start now, though there is room."""


def new_queues(jobs: int, queues: int) -> Queues:
    """Memory for so many jobs and queues."""

    def zeros(length: int) -> Ints:
        return np.zeros(length, np.int64)

    return Queues(
        counters=zeros(5),
        queue=zeros(jobs),
        size=zeros(queues),
        at=zeros(queues + 1),
        line=zeros(jobs),
        place=zeros(jobs),
        waits=np.zeros(words_for(jobs), np.uint64),
        first=zeros(queues),
        filled=np.zeros(words_for(queues), np.uint64),
        later_slot=zeros(jobs),
        later_job=zeros(jobs),
        open=zeros(queues),
        aside=zeros(jobs),
    )


@_inner
def empty_queues(queues: Queues, order: Ints, used: int) -> None:
    """Nobody waits yet; `queue` and `size` are set, and jobs come in by `await_slot`.

    Only the first `used` queues are in use.
    """
    counters, at, first = queues.counters, queues.at, queues.first
    counters[:] = 0
    counters[IN_USE] = used
    queues.waits[:] = NO_BIT
    queues.filled[:] = NO_BIT
    for queue in range(used + 1):
        at[queue] = 0
    for job in range(len(order)):
        at[queues.queue[job] + 1] += 1
    for queue in range(used):
        first[queue] = at[queue]
        at[queue + 1] += at[queue]
    for rank in range(len(order)):
        job = order[rank]
        queue = queues.queue[job]
        place = first[queue]
        first[queue] += 1
        queues.line[place] = rank
        queues.place[job] = place


@_inner
def await_slot(queues: Queues, job: int, slot: int, now: int) -> None:
    """A job waits for no other any more, but perhaps for a slot."""
    if slot <= now:
        enqueue(queues, job)
        return
    place = queues.counters[LATER]
    queues.counters[LATER] += 1
    while place > 0 and queues.later_slot[(place - 1) >> 1] > slot:
        _move_later(queues, (place - 1) >> 1, place)
        place = (place - 1) >> 1
    queues.later_slot[place] = slot
    queues.later_job[place] = job


@_inner
def next_slot(queues: Queues) -> int:
    """The first slot that a job waits for; NEVER if none does."""
    return int(queues.later_slot[0]) if queues.counters[LATER] > 0 else NEVER


@_inner
def release(queues: Queues, now: int) -> None:
    """Jobs whose slot has come join their queues."""
    while next_slot(queues) <= now:
        enqueue(queues, queues.later_job[0])
        queues.counters[LATER] -= 1
        last = queues.counters[LATER]
        slot, job = queues.later_slot[last], queues.later_job[last]
        place = 0
        while 2 * place + 1 < last:
            child = 2 * place + 1
            if child + 1 < last and queues.later_slot[child + 1] < queues.later_slot[child]:
                child += 1
            if queues.later_slot[child] >= slot:
                break
            _move_later(queues, child, place)
            place = child
        queues.later_slot[place] = slot
        queues.later_job[place] = job


@_inner
def _move_later(queues: Queues, source: int, to: int) -> None:
    queues.later_slot[to] = queues.later_slot[source]
    queues.later_job[to] = queues.later_job[source]


@_inner
def enqueue(queues: Queues, job: int) -> None:
    """A job joins its queue."""
    queue, place = queues.queue[job], queues.place[job]
    queues.waits[place >> 6] |= ONE_BIT << np.uint64(place & 63)
    queues.first[queue] = min(queues.first[queue], place)
    queues.filled[queue >> 6] |= ONE_BIT << np.uint64(queue & 63)


@_inner
def dequeue(queues: Queues, queue: int) -> None:
    """The first job of a queue leaves it."""
    place, end = queues.first[queue], queues.at[queue + 1]
    word = place >> 6
    queues.waits[word] ^= ONE_BIT << np.uint64(place & 63)
    left = (queues.waits[word] >> np.uint64(place & 63)) << np.uint64(place & 63)
    while left == NO_BIT and (word + 1) << 6 < end:
        word += 1
        left = queues.waits[word]
    place = end
    if left != NO_BIT:
        place = min(end, (word << 6) + lowest_bit(left))
    queues.first[queue] = place
    if place == end:
        queues.filled[queue >> 6] ^= ONE_BIT << np.uint64(queue & 63)


@_inner
def open_queues(queues: Queues, free: int, sorted_queues: int) -> None:
    """The first job of each queue is to be tried in this pass, if as many GPUs are free.

    Of the first `sorted_queues` queues none has smaller rings than the one before it.
    """
    counters = queues.counters
    counters[OPEN] = counters[ASIDE] = 0
    for word in range((counters[IN_USE] + 63) >> 6):
        left = queues.filled[word]
        while left != NO_BIT:
            queue = (word << 6) + lowest_bit(left)
            left &= left - ONE_BIT
            if queues.size[queue] <= free:
                open_queue(queues, queue)
            elif queue < sorted_queues and counters[IN_USE] == sorted_queues:
                return


@_inner
def open_queue(queues: Queues, queue: int) -> None:
    """The first job of a queue, if there is one, is to be tried in this pass."""
    if queues.first[queue] < queues.at[queue + 1]:
        _push(queues.open, 0, queues.counters[OPEN], queues.line[queues.first[queue]])
        queues.counters[OPEN] += 1


@_inner
def next_to_try(queues: Queues) -> int:
    """Rank of the most urgent job to be tried; it is not to be tried any more."""
    rank = queues.open[0]
    queues.counters[OPEN] -= 1
    _pop(queues.open, 0, queues.counters[OPEN])
    return int(rank)


@_inner
def _push(heap: Ints, at: int, size: int, rank: int) -> None:
    """Add a rank to the binary heap of a size that begins at a place."""
    place = size
    while place > 0 and heap[at + ((place - 1) >> 1)] > rank:
        heap[at + place] = heap[at + ((place - 1) >> 1)]
        place = (place - 1) >> 1
    heap[at + place] = rank


@_inner
def _pop(heap: Ints, at: int, size: int) -> None:
    """Remove the least rank of such a heap, whose size is then as given."""
    rank = heap[at + size]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[at + child + 1] < heap[at + child]:
            child += 1
        if heap[at + child] >= rank:
            break
        heap[at + place] = heap[at + child]
        place = child
    heap[at + place] = rank
