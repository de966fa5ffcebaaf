"""Jobs that wait, by what they ask for, so that an event need not try each of them.

Jobs that ask for the same (ring size, style, servers, spread, tenant) wait in one line, the most
urgent first. Where one of them finds no room, no other one of the line does until something
completes or changes. Jobs join their line once they are released and wait for no other job.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.engine.compilation import compiled

_inner = partial(compiled, inner=True)

LINES, LATER, LEFT, OPEN, ASIDE = range(5)
"""Counters: lines with jobs; jobs to be released; jobs not yet started; `open` and `aside`."""


class Waiting(NamedTuple):
    """Who waits; `begin_waiting` fills it."""

    counters: Ints
    """(5) Sizes of the lists below."""
    rank: Ints
    """(jobs) Place of each job in the order: the least is the most urgent."""
    line: Ints
    """(jobs) Line in which each waits."""
    line_at: Ints
    """(lines + 1) Where each line begins in `heap`."""
    length: Ints
    """(lines) Jobs in each line."""
    heap: Ints
    """(jobs) Ranks: each line is a binary heap."""
    lines: Ints
    """(lines) Lines with jobs."""
    place: Ints
    """(lines) Place of each among them; −1 for a line without jobs."""
    later_slot: Ints
    """(jobs) Binary heap of jobs that wait for a slot only: the slots."""
    later_job: Ints
    """(jobs) The jobs."""
    open: Ints
    """(lines) Scratch of a pass: ranks of jobs to be tried, the first of their lines, as a heap."""
    aside: Ints
    """(jobs) Scratch of a pass: jobs that must not start now, though there is room."""


def new_waiting(jobs: int, lines: int) -> Waiting:
    """Memory for so many jobs and lines."""

    def room(length: int) -> Ints:
        return np.zeros(length, np.int64)

    return Waiting(
        counters=room(5),
        rank=room(jobs),
        line=room(jobs),
        line_at=room(lines + 1),
        length=room(lines),
        heap=room(jobs),
        lines=room(lines),
        place=np.full(lines, -1, np.int64),
        later_slot=room(jobs),
        later_job=room(jobs),
        open=room(lines),
        aside=room(jobs),
    )


@_inner
def begin_waiting(waiting: Waiting, order: Ints) -> None:
    """Nobody waits yet; `line` is set, and jobs come in by `await_slot`."""
    waiting.counters[:] = 0
    waiting.place[:] = -1
    waiting.length[:] = 0
    waiting.line_at[:] = 0
    for rank in range(len(order)):
        waiting.rank[order[rank]] = rank
        waiting.line_at[waiting.line[order[rank]] + 1] += 1
    for line in range(len(waiting.length)):
        waiting.line_at[line + 1] += waiting.line_at[line]


@_inner
def await_slot(waiting: Waiting, job: int, slot: int, now: int) -> None:
    """A job waits for no other any more, but perhaps for a slot."""
    if slot <= now:
        join_line(waiting, job)
        return
    place = waiting.counters[LATER]
    waiting.counters[LATER] += 1
    while place > 0 and waiting.later_slot[(place - 1) >> 1] > slot:
        _move_later(waiting, (place - 1) >> 1, place)
        place = (place - 1) >> 1
    waiting.later_slot[place] = slot
    waiting.later_job[place] = job


@_inner
def next_slot(waiting: Waiting) -> int:
    """The first slot that a job waits for; NEVER if none does."""
    return int(waiting.later_slot[0]) if waiting.counters[LATER] > 0 else NEVER


@_inner
def release(waiting: Waiting, now: int) -> None:
    """Jobs whose slot has come join their lines."""
    while next_slot(waiting) <= now:
        join_line(waiting, waiting.later_job[0])
        waiting.counters[LATER] -= 1
        last = waiting.counters[LATER]
        slot, job = waiting.later_slot[last], waiting.later_job[last]
        place = 0
        while 2 * place + 1 < last:
            child = 2 * place + 1
            if child + 1 < last and waiting.later_slot[child + 1] < waiting.later_slot[child]:
                child += 1
            if waiting.later_slot[child] >= slot:
                break
            _move_later(waiting, child, place)
            place = child
        waiting.later_slot[place] = slot
        waiting.later_job[place] = job


@_inner
def _move_later(waiting: Waiting, source: int, to: int) -> None:
    waiting.later_slot[to] = waiting.later_slot[source]
    waiting.later_job[to] = waiting.later_job[source]


@_inner
def join_line(waiting: Waiting, job: int) -> None:
    """A job joins its line."""
    line = waiting.line[job]
    _push(waiting.heap, waiting.line_at[line], waiting.length[line], waiting.rank[job])
    waiting.length[line] += 1
    if waiting.place[line] < 0:
        waiting.place[line] = waiting.counters[LINES]
        waiting.lines[waiting.counters[LINES]] = line
        waiting.counters[LINES] += 1


@_inner
def leave_line(waiting: Waiting, line: int) -> None:
    """The first job of a line leaves it."""
    waiting.length[line] -= 1
    _pop(waiting.heap, waiting.line_at[line], waiting.length[line])
    if waiting.length[line] == 0:
        waiting.counters[LINES] -= 1
        last = waiting.lines[waiting.counters[LINES]]
        waiting.lines[waiting.place[line]] = last
        waiting.place[last] = waiting.place[line]
        waiting.place[line] = -1


@_inner
def first_rank(waiting: Waiting, line: int) -> int:
    """Rank of the first job of a line, which has one."""
    return int(waiting.heap[waiting.line_at[line]])


@_inner
def open_line(waiting: Waiting, line: int) -> None:
    """The first job of a line, if there is one, is to be tried in this pass."""
    if waiting.length[line] > 0:
        _push(waiting.open, 0, waiting.counters[OPEN], first_rank(waiting, line))
        waiting.counters[OPEN] += 1


@_inner
def next_to_try(waiting: Waiting) -> int:
    """Rank of the most urgent job to be tried; it is not to be tried any more."""
    rank = waiting.open[0]
    waiting.counters[OPEN] -= 1
    _pop(waiting.open, 0, waiting.counters[OPEN])
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
