"""What a branching over schedules works on: the ways to place each job, and the path to a node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Arrays, Floats, Ints

WAITING = -1
LEVEL, SEEN, USED = range(3)
"""Counters: jobs started on the way to the current node; rows of `seen` in use; nodes so far."""
MEMORY = 32_000_000
"""Size in bytes of the table of known nodes, if nothing else is asked for."""


class Prices(NamedTuple):
    """What jobs and slots are worth: cuts of the configuration bound, in whole numbers."""

    counters: Ints
    """(1) Cuts in use."""
    length: Ints
    """(cuts) A cut counts where at most so many slots are left."""
    slot: Ints
    """(cuts) A slot is worth at most this."""
    waiting: Ints
    """(cuts, jobs) A job that waits is worth at least this."""
    more: Ints
    """(cuts, options) A job is worth so much more once it has taken an option."""
    at: Ints
    """(options) Offsets into `left`."""
    left: Ints
    """(cuts, rows) What so many iterations that are left are worth at least, by job and class."""


NO_PRICES = Prices(
    counters=np.zeros(1, np.int64),
    length=np.zeros(0, np.int64),
    slot=np.zeros(0, np.int64),
    waiting=np.zeros((0, 0), np.int64),
    more=np.zeros((0, 0), np.int64),
    at=np.zeros(0, np.int64),
    left=np.zeros((0, 0), np.int64),
)
"""No cuts."""


class Options(NamedTuple):
    """The ways to place each job; jobs and options are sorted, promising ones first."""

    job: Ints
    """(jobs) Index in the instance of each job."""
    size: Ints
    """(jobs) GPUs of the job, G_j."""
    first: Ints
    """(jobs + 1) Offsets of each job's options in the tables by option."""
    workers: Ints
    """(options, servers) Workers y_js."""
    link_at: Ints
    """(options + 1) Offsets into `link`."""
    link: Ints
    """Links that the ring uses."""
    weight: Ints
    """(options, columns) What the ring counts on them to each class of rings; with pressures or
    sensitivities, a last column counts rings. Where the last one is 0, rings do not meet."""
    reach: Floats
    """(options) The most in Gbit/s that network cards let the ring have."""
    alone: Ints
    """(options) Iterations per slot if no other ring is on these links."""
    slots: Ints
    """(options) Execution time alone."""
    least: Ints
    """(jobs) The least execution time of a job's options."""
    release: Ints
    """(jobs) First slot in which the job may start, max(0, r_j)."""
    twin: Ints
    """(jobs) The previous equal job; −1 if there is none."""
    gpus: Ints
    """(servers) GPUs of each server, O_s."""
    peer: Ints
    """(servers) The previous equal server; −1 if there is none."""
    left_bits: int
    """Bits for the iterations that are left in a known state; the others tell where a job is."""
    by_servers: bool
    """Whether these others have room for its workers on all servers."""
    prices: Prices


class Tree(NamedTuple):
    """The path to the current node, level by level: each level starts one more job."""

    counters: Ints
    """(3) See LEVEL, SEEN and USED."""
    clock: Ints
    """(jobs + 2) The slot; in the last row, for a look ahead."""
    cost: Ints
    """(jobs + 1) What completed jobs cost, where that counts; 0 otherwise."""
    worth: Ints
    """(jobs + 1, cuts) What all that is left is worth by each cut."""
    born: Ints
    """(jobs + 1) Nodes so far when the state was new."""
    asked: Ints
    """(jobs + 1) Whether the bound has been asked about the state: 1 if so."""
    job: Ints
    """(jobs + 1) The job to try next there."""
    option: Ints
    """(jobs + 1) Its option to try next."""
    left: Ints
    """(jobs + 2, jobs) Iterations left of each job."""
    free: Ints
    """(jobs + 2, 2, servers) Idle GPUs: now, and in the slot before."""
    rings: Ints
    """(jobs + 2, 2, links × columns) What rings count on each link, by `Options.weight`: now, and
    in the slot before."""
    choice: Ints
    """(jobs) Option of each job, WAITING if it has not started."""
    start: Ints
    """(jobs) Start slots a_j."""
    pace: Ints
    """(jobs) Scratch: iterations per slot of each running job."""
    code: Ints
    """(jobs + 2) Scratch: a row of `seen`."""
    order: Ints
    """(servers) Scratch: servers, equal ones by what they hold."""
    seen: Ints
    """(rows, jobs + 2) States seen before, as a hash table: slot + 1, cost, a number by job."""


def new_tree(arrays: Arrays, options: Options, memory: int = MEMORY) -> Tree:
    """Memory for a tree, of about so many bytes for known nodes; `plant` resets it."""
    jobs, servers, links = len(options.job), len(options.gpus), len(arrays.row_at) - 1

    def room(*lengths: int) -> Ints:
        return np.zeros(lengths, np.int64)

    return Tree(
        counters=room(3),
        clock=room(jobs + 2),
        cost=room(jobs + 1),
        worth=room(jobs + 1, len(options.prices.slot)),
        born=room(jobs + 1),
        asked=room(jobs + 1),
        job=room(jobs + 1),
        option=room(jobs + 1),
        left=room(jobs + 2, jobs),
        free=room(jobs + 2, 2, servers),
        rings=room(jobs + 2, 2, links * options.weight.shape[1]),
        choice=room(jobs),
        start=room(jobs),
        pace=room(jobs),
        code=room(jobs + 2),
        order=room(servers),
        seen=room(memory // 8 // (jobs + 2), jobs + 2),
    )
