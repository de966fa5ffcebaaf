"""Starts: orders that are good for most instances, and a solution without simulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.placement_options import (
    ANY,
    ANY_ALONE,
    FEWEST_ALONE,
    FEWEST_PAIRED,
    NEVER_PACKS,
    PACK,
    PACKS_FIRST,
    PACKS_LAST,
    PlacementOptions,
    option_of_style,
)
from rarmodel.packing import Layout, Solution, layout_of, one_after_another
from rarmodel.packing.buddy_blocks import new_blocks, pack_blocks
from rarmodel.packing.server_orders import rings_alone, settle, solution_of
from rarmodel.schema import Instance


def first_orders(layout: Layout, options: PlacementOptions) -> Iterator[tuple[Ints, Ints]]:
    """Orders with options: longest, widest and largest jobs first, packed and spread."""
    least = layout.least
    longest = np.argsort(-least, kind="stable")
    widest = np.lexsort((-least, -layout.size))
    largest = np.argsort(-least * layout.size, kind="stable")
    # How jobs that fit a server are placed, and how the others are.
    for inside, packs, outside in (
        (PACK, NEVER_PACKS, ANY_ALONE),
        (PACK, NEVER_PACKS, FEWEST_ALONE),
        (ANY, PACKS_FIRST, ANY),
        (FEWEST_PAIRED, PACKS_FIRST, FEWEST_PAIRED),
        (ANY_ALONE, PACKS_FIRST, ANY_ALONE),
        (ANY, PACKS_LAST, ANY),
    ):
        if packs == PACKS_LAST and not layout.spreads_faster:
            continue
        option = styled(layout, options, inside, packs, outside)
        for order in (longest, widest, largest):
            yield order, option


def styled(
    layout: Layout, options: PlacementOptions, inside: int, packs: int, outside: int
) -> Ints:
    """(jobs) Options in one style for jobs that fit a server, and in another for the others.

    Where a job has no such option, its first one.
    """
    fitting = option_of_style(options, inside, packs)
    if packs == PACKS_LAST:  # The others are no faster on several servers.
        fitting = np.where(fitting >= 0, fitting, option_of_style(options, inside, PACKS_FIRST))
    others = option_of_style(options, outside, NEVER_PACKS)
    return np.maximum(0, np.where(layout.packed > 0, fitting, others))


def decoded(lists: ListSchedules) -> Solution:
    """The list schedule that was made last."""
    partial, place_at = lists.partial, lists.arrays.place_at
    at = np.concatenate(([0], np.cumsum(partial.used)))
    source = np.repeat(place_at[:-1] - at[:-1], partial.used) + np.arange(at[-1])
    completions = partial.state.rings["finish"].copy()
    return Solution(
        makespan=int(completions.max()),
        starts=partial.starts.copy(),
        completions=completions,
        at=at,
        server=partial.server[source],
        workers=partial.workers[source],
    )


def without_contention(instance: Instance) -> Solution:
    """A quick solution: jobs packed if they fit a server, and the others one after another."""
    layout, solution = layout_of(instance), one_after_another(instance)
    if not layout.packed.any():
        return solution
    skeleton, packing = rings_alone(layout, solution)
    pack_blocks(layout, new_blocks(layout, packing, np.zeros(1, np.uint64)), packing)
    settle(layout, packing, 0)
    return solution_of(layout, skeleton, packing)
