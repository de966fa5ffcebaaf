"""The programs of joined blocks of an instance, where some of its jobs are easy."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Protocol

from rarmodel.model import plain_pace, topology
from rarmodel.model.sharing import worst_share
from rarmodel.schema import Instance

from .block_sizes import kinds_of, nested_sizes
from .joined_dive import first_size
from .joined_program import JoinedProgram
from .layout import layout_of

RINGS = 2
"""Rings on each link beside which an easy job is no slower, itself included."""


class JoinedPrograms(Protocol):
    """The program of joined blocks by target."""

    def __call__(self, target: int, turn: int) -> JoinedProgram:
        """A program; turns differ in the greatest size of joined blocks."""


def joined_programs_of(instance: Instance) -> JoinedPrograms | None:
    """The programs of an instance whose jobs have one ring size and one pace; each is made once.

    By turns, joined blocks may be as wide as the narrowest of the jobs that are packed first, or
    are narrower. None if a job fits no server, if sizes do not divide one another, or if
    no job is easy.
    """
    layout, links = layout_of(instance), topology(instance.cluster).links
    gpus, kinds = layout.server_gpus.tolist(), kinds_of(layout)
    if not links or not all(kind.slots for kind in kinds):
        return None
    nested = nested_sizes(gpus, [kind.size for kind in kinds])
    share = worst_share(instance, min(link.gbps for link in links), RINGS)
    hard = {
        kind
        for job, kind in enumerate(kinds)
        if kind.size == 1 or plain_pace(instance, job).slots(2, share) != kind.slots
    }
    easy = set(kinds) - hard
    if not easy or any(kind.size not in nested for kind in kinds):
        return None
    # The smallest blocks are not joined from others.
    first = max(0, min(nested.index(first_size(nested, kinds)), len(nested) - 2))
    widths, making = nested[first:-1][:2], Lock()

    @cache
    def program(target: int, widest: int) -> JoinedProgram:
        return JoinedProgram(gpus, kinds, easy, target, widest)

    def program_of(target: int, turn: int) -> JoinedProgram:
        # Threads ask for the same program at the same time, and `cache` would let each make it.
        with making:
            return program(target, widths[turn % len(widths)])

    return program_of if widths else None
