"""Prove that no schedule is as short as a target, or find one: branching on classes of placements.

A node says which classes each job may take; a class is a number of servers. At a node the
configuration bound is asked first: as a whole, and with a job in one of its classes, which is left
out if the bound refutes it. Then a depth-first search is asked, for a number of nodes, with prices
of the bound. If it has no answer, the node becomes one node for each class of a job. Where no job
has a choice any more, depth-first search and constraint programming take turns. A target is refuted
once all of its nodes are. Several threads look at different nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from enum import Enum
from time import perf_counter
from typing import NamedTuple

from rarmodel.bounds.configurations import Configurations
from rarmodel.errors import VerificationError
from rarmodel.schema import Instance

from .depth_first import DepthFirst
from .timetable import Timetables
from .verdict import NOT_KNOWN, Plan, Verdict

FIRST_NODES = 1_000_000
"""Nodes of the depth-first search at a node of the classes: about a second."""
FIRST_SECONDS = 5.0
"""Time for constraint programming where no job has a choice; it doubles from turn to turn."""
CUT_SCALE = 10**4
"""Price of a slot for constraint programming, which likes small numbers."""

Classes = tuple[frozenset[int], ...]
"""(jobs) Classes that a job may take, by index."""


class Outcome(Enum):
    """What is known of a target."""

    REFUTED = "no schedule is that short"
    FOUND = "a schedule is that short"
    OPEN = "not known in time"


class _Leaf(NamedTuple):
    """A question that an engine has answered with no."""

    target: int
    classes: Classes
    by_timetable: bool


class _Seen(NamedTuple):
    """What a look at a node has found."""

    outcome: Outcome
    children: tuple[Classes, ...] = ()
    plan: Plan | None = None


class Refutation:
    """Refutes targets of one plain instance.

    Parameters
    ----------
    instance
        The problem; the configuration bound must take it.
    threads
        Threads.

    Attributes
    ----------
    plan
        The last schedule found.
    """

    def __init__(self, instance: Instance, threads: int) -> None:
        self.plan: Plan | None = None
        self._instance, self._threads = instance, threads
        self._bounds = [Configurations(instance) for _ in range(threads)]
        self._spreadings = self._bounds[0].spreadings
        self._timetables = Timetables(instance, self._spreadings)
        self._weights = [job.size * job.iterations_left for job in instance.jobs]
        self._root: Classes = tuple(
            frozenset(range(len(spreadings))) for spreadings in self._spreadings
        )
        self._leaves: list[_Leaf] = []
        self._last: list[_Leaf] = []
        self._stopped = False

    def decide(self, target: int, deadline: float) -> Outcome:
        """Whether a schedule has at most the target's length, in slots.

        Parameters
        ----------
        target
            Slots.
        deadline
            The reading of `time.perf_counter` at which to stop.
        """
        self._stopped, self._leaves = False, []
        nodes = [self._root]
        free = list(range(self._threads))
        looks: dict[Future[_Seen], int] = {}
        with ThreadPoolExecutor(self._threads) as pool:
            try:
                while nodes or looks:
                    while nodes and free:
                        thread = free.pop()
                        looks[pool.submit(self._look, thread, nodes.pop(), target, deadline)] = (
                            thread
                        )
                    for look in wait(looks, return_when=FIRST_COMPLETED).done:
                        free.append(looks.pop(look))
                        seen = look.result()
                        if seen.outcome is Outcome.OPEN and not seen.children:
                            return Outcome.OPEN
                        if seen.plan is not None:
                            self.plan = seen.plan
                            return Outcome.FOUND
                        nodes += seen.children
            finally:
                self._stopped = True
        self._last = self._leaves
        return Outcome.REFUTED

    def confirm(self, deadline: float) -> bool:
        """Whether the other engine gives the same answers as those behind the last refutation.

        Raises
        ------
        VerificationError
            If it finds a schedule that should not exist.
        """

        def over() -> bool:
            return perf_counter() >= deadline

        for target, classes, by_timetable in self._last:
            cut = self._bounds[0].cut(target, classes, over)
            search = DepthFirst(self._instance, self._spreadings, target, classes, cut)
            if by_timetable:
                verdict = search.search(2**62, over)
            else:
                verdict = self._ask(0, target, classes, deadline - perf_counter(), self._threads)
            if verdict.plan is not None:
                raise VerificationError(
                    f"the two engines of the proof disagree about schedules of {target} slots; "
                    "please report this instance"
                )
            if not verdict.impossible:
                return False
        return True

    def _look(self, thread: int, classes: Classes, target: int, deadline: float) -> _Seen:
        """Look at a node: refute it, find a schedule, or divide it."""

        def over() -> bool:
            return self._stopped or perf_counter() >= deadline

        bound = self._bounds[thread]
        probed = self._probed(bound, classes, target, over)
        if probed is None:
            return _Seen(Outcome.REFUTED)
        if over():
            return _Seen(Outcome.OPEN)
        job = self._to_branch(probed)
        cut = bound.cut(target, probed, over)
        search = DepthFirst(self._instance, self._spreadings, target, probed, cut)
        nodes, seconds = FIRST_NODES, FIRST_SECONDS
        while not over():
            verdict, by_timetable = search.search(nodes, over), False
            if verdict is NOT_KNOWN and job is not None and not over():
                return _Seen(
                    Outcome.OPEN,
                    tuple(
                        (*probed[:job], frozenset({one}), *probed[job + 1 :])
                        for one in sorted(probed[job], reverse=True)
                    ),
                )
            if verdict is NOT_KNOWN and not over():
                time = min(seconds, deadline - perf_counter())
                verdict, by_timetable = self._ask(thread, target, probed, time, 1), True
            if verdict.plan is not None:
                return _Seen(Outcome.FOUND, plan=verdict.plan)
            if verdict.impossible:
                self._leaves.append(_Leaf(target, probed, by_timetable))
                return _Seen(Outcome.REFUTED)
            nodes, seconds = 2 * nodes, 2 * seconds
        return _Seen(Outcome.OPEN)

    def _ask(
        self, thread: int, target: int, classes: Classes, seconds: float, threads: int
    ) -> Verdict:
        """Ask constraint programming."""
        cut = self._bounds[thread].cut(target, classes, lambda: self._stopped, CUT_SCALE)
        return self._timetables.ask(target, classes, cut, seconds, threads)

    def _probed(
        self, bound: Configurations, classes: Classes, target: int, over: Callable[[], bool]
    ) -> Classes | None:
        """A node without the classes that the bound refutes; None if none of its is left."""
        if bound.refuted(target, over, classes):
            return None
        before = classes
        for j in sorted(range(len(classes)), key=lambda j: -self._weights[j]):
            kept = set(classes[j])
            for one in sorted(classes[j], reverse=True):
                if len(kept) == 1 or over():
                    break
                alone = (*classes[:j], frozenset({one}), *classes[j + 1 :])
                if bound.refuted(target, over, alone):
                    kept.discard(one)
            classes = (*classes[:j], frozenset(kept), *classes[j + 1 :])
        if classes != before and bound.refuted(target, over, classes):
            return None
        return classes

    def _to_branch(self, classes: Classes) -> int | None:
        """The job of most work of those with a choice; None if no job has one."""
        choosers = [j for j, possible in enumerate(classes) if len(possible) > 1]
        return max(choosers, key=lambda j: self._weights[j], default=None)
