"""Jobs that wait, by what they ask for, so that an event need not try each of them.

Jobs that ask for the same (ring size, style, servers, spread, tenant) wait in one queue, the most
urgent first. Where one of them finds no room, no other one of the queue does until something
completes or changes. Jobs join their queue once they are released and wait for no other job.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.engine.compilation import compiled

_inner = partial(compiled, inner=True)

QUEUES, LATER, LEFT, OPEN, ASIDE = range(5)
"""Counters: queues with jobs; jobs to be released; jobs not yet started; `open` and `aside`."""


class Queues(NamedTuple):
    """Who waits; `empty_queues` fills it."""

    counters: Ints
    """(5) Sizes of the lists below."""
    rank: Ints
    """(jobs) Place of each job in the order: the least is the most urgent."""
    queue: Ints
    """(jobs) Line in which each waits."""
    queue_at: Ints
    """(queues + 1) Where each queue begins in `heap`."""
    size: Ints
    """(queues) Ring size of the jobs in each."""
    length: Ints
    """(queues) Jobs in each queue."""
    heap: Ints
    """(jobs) Ranks: each queue is a binary heap."""
    used: Ints
    """(queues) Queues with jobs."""
    place: Ints
    """(queues) Place of each among them; −1 for a queue without jobs."""
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
        rank=zeros(jobs),
        queue=zeros(jobs),
        queue_at=zeros(queues + 1),
        size=zeros(queues),
        length=zeros(queues),
        heap=zeros(jobs),
        used=zeros(queues),
        place=np.full(queues, -1, np.int64),
        later_slot=zeros(jobs),
        later_job=zeros(jobs),
        open=zeros(queues),
        aside=zeros(jobs),
    )


@_inner
def empty_queues(queues: Queues, order: Ints) -> None:
    """Nobody waits yet; `queue` and `size` are set, and jobs come in by `await_slot`."""
    queues.counters[:] = 0
    queues.place[:] = -1
    queues.length[:] = 0
    queues.queue_at[:] = 0
    for rank in range(len(order)):
        queues.rank[order[rank]] = rank
        queues.queue_at[queues.queue[order[rank]] + 1] += 1
    for queue in range(len(queues.length)):
        queues.queue_at[queue + 1] += queues.queue_at[queue]


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
    queue = queues.queue[job]
    _push(queues.heap, queues.queue_at[queue], queues.length[queue], queues.rank[job])
    queues.length[queue] += 1
    if queues.place[queue] < 0:
        queues.place[queue] = queues.counters[QUEUES]
        queues.used[queues.counters[QUEUES]] = queue
        queues.counters[QUEUES] += 1


@_inner
def dequeue(queues: Queues, queue: int) -> None:
    """The first job of a queue leaves it."""
    queues.length[queue] -= 1
    _pop(queues.heap, queues.queue_at[queue], queues.length[queue])
    if queues.length[queue] == 0:
        queues.counters[QUEUES] -= 1
        last = queues.used[queues.counters[QUEUES]]
        queues.used[queues.place[queue]] = last
        queues.place[last] = queues.place[queue]
        queues.place[queue] = -1


@_inner
def first_rank(queues: Queues, queue: int) -> int:
    """Rank of the first job of a queue, which has one."""
    return int(queues.heap[queues.queue_at[queue]])


@_inner
def open_queue(queues: Queues, queue: int) -> None:
    """The first job of a queue, if there is one, is to be tried in this pass."""
    if queues.length[queue] > 0:
        _push(queues.open, 0, queues.counters[OPEN], first_rank(queues, queue))
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
