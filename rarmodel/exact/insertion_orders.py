"""Schedules under learned caps: all jobs inserted anew, in orders that a local search improves.

Where additions come to caps, every plan keeps them, and the order in which jobs are inserted
decides how good it is. A few rules begin; then some jobs of the best order move to other places
(an iterated greedy, as R. Ruiz and T. Stützle have it for flow shops, European Journal of
Operational Research 177, 2007). A plan costs no model and no simulation. The best one is simulated,
and judged as every schedule is; then the next round knows how long its jobs took.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from .insertion import Inserted, Insertion, Way
from .ranking import Incumbent, Ranking

WAYS = 4
"""Placements of each job."""

ROUNDS = 3
"""Plans that are simulated."""

MOST_MOVED = 4
"""Most jobs that change their places at a time."""

PATIENCE = 400
"""Orders in a row without a better plan, after which a round ends."""


def inserted_anew(
    ranking: Ranking, insertion: Insertion, found: Incumbent, deadline: float
) -> Iterator[Incumbent]:
    """Schedules of plans that keep the caps, best of each round.

    Parameters
    ----------
    ranking
        The solve.
    insertion
        Makes plans, with the caps.
    found
        A schedule, whose placements and order are among those tried.
    deadline
        A reading of `perf_counter`.
    """
    names = [job.name for job in ranking.known.instance.jobs]
    order: Sequence[str] | None = None
    for left in range(ROUNDS, 0, -1):
        now = perf_counter()
        until = now + (deadline - now) / left
        ways = _ways(ranking, found)
        best = _best_order(ranking, insertion, ways, found, order, until)
        if best is None:
            return
        order, plan = best
        made = ranking.settled([plan.starts[j] for j in names], plan.workers)
        if made is None:
            return
        yield made
        found = made
        if perf_counter() > deadline:
            return


def _ways(ranking: Ranking, found: Incumbent) -> dict[str, list[Way]]:
    """Some placements of each job, and how long it is expected to take there; its own first."""
    times, pool, ways = found.times, ranking.pool, dict[str, list[Way]]()
    for j, mine in times.workers.items():
        drawn = pool.draw(j, WAYS, ranking.random)
        ways[j] = [(way, pool.expected(j, way)) for way in [mine, *(w for w in drawn if w != mine)]]
    return ways


def _best_order(
    ranking: Ranking,
    insertion: Insertion,
    ways: dict[str, list[Way]],
    found: Incumbent,
    order: Sequence[str] | None,
    until: float,
) -> tuple[Sequence[str], Inserted] | None:
    """The order with the best plan, and this plan; None if no order has one."""
    random, best = ranking.random, None
    rules = _rules(insertion, ways, found) if order is None else [order]
    for one in rules:
        plan = insertion.plan(one, ways, {}, {})
        if plan is not None:
            value = _value(ranking, plan)
            if best is None or value < best[0]:
                best = value, one, plan
        if perf_counter() > until and best is not None:
            break
    if best is None:
        return None
    in_vain = 0
    while in_vain < PATIENCE and perf_counter() < until:
        changed = list(best[1])
        for _ in range(random.randint(1, MOST_MOVED)):
            job = changed.pop(random.randrange(len(changed)))
            changed.insert(random.randint(0, len(changed)), job)
        plan = insertion.plan(changed, ways, {}, {})
        in_vain += 1
        if plan is None:
            continue
        value = _value(ranking, plan)
        if value <= best[0]:
            in_vain = in_vain if value == best[0] else 0
            best = value, changed, plan
    return best[1], best[2]


def _rules(
    insertion: Insertion, ways: dict[str, list[Way]], found: Incumbent
) -> list[Sequence[str]]:
    """Orders to begin with: by start, longest first, and by what jobs take of the scarcest cap."""
    starts = found.times.starts
    taken = {j: insertion.share(j, *some[0]) for j, some in ways.items()}
    return [
        sorted(starts, key=lambda j: -taken[j]),
        sorted(starts, key=lambda j: starts[j]),
        sorted(starts, key=lambda j: -ways[j][0][1]),
        sorted(starts, key=lambda j: taken[j]),
    ]


def _value(ranking: Ranking, plan: Inserted) -> tuple[int, int]:
    """What plans are compared by: the latest completion, or the sum of completions before it."""
    latest, total = max(plan.ends.values()), sum(plan.ends.values())
    return (latest, total) if ranking.known.by_makespan else (total, latest)
