"""Prove that no schedule is as short as a target, or find one: branching on classes of placements.

A node says which classes each job may take; a class is a number of servers. At a node the
configuration bound is asked first. Then a depth-first search is asked about a few jobs, those of
the greatest price: if these alone do not fit the target, no schedule does. Most jobs of an instance
do not matter for that, and each of them would multiply the states to look at. If the few jobs fit,
the search is asked about more, and about all jobs in the end. Before it is asked about a job, the
bound is, with the job in one of its classes: a class that the bound refutes is left out.

If the search has no answer after a number of nodes, the node is divided into one node for each
class of one of these jobs. Idle threads look at these parts, while the search goes on for a while:
either may be first. Where none of these jobs has a choice any more, depth-first search and
constraint programming take turns. A node is refuted once the search or all of its parts say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from enum import Enum
from threading import Condition
from time import perf_counter
from typing import NamedTuple

from rarmodel.bounds.configurations import Configurations
from rarmodel.errors import VerificationError
from rarmodel.schema import Instance

from .depth_first import DepthFirst
from .timetable import Timetables
from .verdict import NOT_KNOWN, Plan, Verdict

FEWEST_JOBS = 4
"""Jobs that the first question is about."""
FIRST_NODES, MOST_NODES = 1_000_000, 20_000_000
"""Nodes of the depth-first search before a node is divided, and after that: about 1 and 20 s."""
FIRST_SECONDS = 5.0
"""Time for constraint programming where no job has a choice; it doubles from turn to turn."""
PAUSE = 0.1
"""Seconds after which an idle thread looks at the clock, and between questions whether to stop."""
CUT_SCALE = 10**4
"""Price of a slot for constraint programming, which likes small numbers."""

Classes = tuple[frozenset[int], ...]
"""(jobs) Classes that a job may take, by index."""


class Outcome(Enum):
    """What is known of a target."""

    REFUTED = "no schedule is that short"
    FOUND = "a schedule is that short"
    OPEN = "not known in time"


class _Question(NamedTuple):
    """Whether some jobs in these classes have a schedule as short as a target."""

    target: int
    classes: Classes
    jobs: tuple[int, ...]


class _Leaf(NamedTuple):
    """A question that an engine has answered with no."""

    question: _Question
    by_timetable: bool


class _Node:
    """A part of the question: some classes of the jobs."""

    def __init__(self, classes: Classes, fewest: int, parent: _Node | None = None) -> None:
        self.classes = classes
        # Fewer jobs than this are known to fit, or to be hard to decide about.
        self.fewest = fewest
        self.parent = parent
        self.parts: list[_Node] = []
        self.leaf: _Leaf | None = None
        self.refuted = False

    @property
    def settled(self) -> bool:
        """Whether this node or a greater one is refuted."""
        return self.refuted or (self.parent is not None and self.parent.settled)

    def refute(self, leaf: _Leaf | None) -> None:
        """Note that this node is refuted: by an engine, or by the bound."""
        self.refuted, self.leaf, self.parts = True, leaf, []
        node = self.parent
        while node is not None and all(part.refuted for part in node.parts):
            node.refuted, node = True, node.parent

    def leaves(self) -> list[_Leaf]:
        """The answers of the engines that refute this node."""
        if self.leaf is not None:
            return [self.leaf]
        return [leaf for part in self.parts for leaf in part.leaves()]


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
        self._last: list[_Leaf] = []
        # What the threads share while they decide.
        self._changed = Condition()
        self._waiting: list[_Node] = []
        self._idle = 0
        self._stopped = False

    def decide(
        self, target: int, deadline: float, over: Callable[[], bool] = lambda: False
    ) -> Outcome:
        """Whether a schedule has at most the target's length, in slots.

        Parameters
        ----------
        target
            Slots.
        deadline
            The reading of `time.perf_counter` at which to stop.
        over
            Asked again and again; once it returns True, this stops.
        """
        root = _Node(self._root, FEWEST_JOBS)
        self._waiting, self._idle, self._stopped = [root], 0, False
        found: list[Plan] = []
        with ThreadPoolExecutor(self._threads) as pool:
            working = [
                pool.submit(self._work, thread, root, target, deadline, found)
                for thread in range(self._threads)
            ]
            try:
                while wait(working, PAUSE).not_done:
                    if over():
                        self._stopped = True
                for work in working:
                    work.result()
            finally:
                self._stopped = True
        if found:
            self.plan = found[0]
            return Outcome.FOUND
        if root.refuted:
            self._last = root.leaves()
            return Outcome.REFUTED
        return Outcome.OPEN

    def _work(
        self, thread: int, root: _Node, target: int, deadline: float, found: list[Plan]
    ) -> None:
        """Look at nodes, as one of several threads, until there is an answer or no time."""
        try:
            while not found and (node := self._next(root, deadline)) is not None:
                plan = self._look(thread, node, target, deadline)
                if plan is not None:
                    found.append(plan)
        finally:
            self._stopped = True

    def _next(self, root: _Node, deadline: float) -> _Node | None:
        """The node to look at next; None if there is no more to do."""
        with self._changed:
            self._idle += 1
            while not self._stopped and not root.refuted and perf_counter() < deadline:
                while self._waiting:
                    node = self._waiting.pop()
                    if not node.settled:
                        self._idle -= 1
                        return node
                if self._idle == self._threads:
                    break
                self._changed.wait(PAUSE)
            return None

    def confirm(self, deadline: float, threads: int) -> bool:
        """Whether the other engine gives the same answers as those behind the last refutation.

        Parameters
        ----------
        deadline
            The reading of `time.perf_counter` at which to stop.
        threads
            Threads of constraint programming.

        Raises
        ------
        VerificationError
            If it finds a schedule that should not exist.
        """

        def over() -> bool:
            return perf_counter() >= deadline

        self._stopped = False
        for question, by_timetable in self._last:
            if by_timetable:
                search = DepthFirst(self._instance, self._bounds[0], *question)
                verdict = search.search(2**62, over)
            else:
                verdict = self._ask(0, question, deadline - perf_counter(), threads)
            if verdict.plan is not None:
                raise VerificationError(
                    "the two engines of the proof disagree about schedules of "
                    f"{question.target} slots; please report this instance"
                )
            if not verdict.impossible:
                return False
        return True

    def _look(self, thread: int, node: _Node, target: int, deadline: float) -> Plan | None:
        """Refute a node or divide it, or return a schedule."""

        def over() -> bool:
            return self._stopped or node.settled or perf_counter() >= deadline

        bound = self._bounds[thread]
        classes, probed = node.classes, 0
        cut = bound.cut(target, over, classes)
        if cut is not None and cut.refutes:
            self._refute(node)
            return None
        worths = [0 if cut is None else cut.least(j) or 0 for j in range(len(classes))]
        order = sorted(range(len(classes)), key=lambda j: (-worths[j], -self._weights[j]))
        for few in range(min(node.fewest, len(order)), len(order) + 1):
            kept = self._kept(bound, classes, order[probed:few], target, over)
            if kept is None:
                self._refute(node)
            if kept is None or over():
                return None
            classes, probed = kept, few
            question = _Question(target, classes, tuple(sorted(order[:few])))
            search = DepthFirst(self._instance, bound, *question)
            verdict, by_timetable = search.search(FIRST_NODES, over), False
            if verdict is NOT_KNOWN and not over():
                if choosers := _choosers(question):
                    self._divide(node, classes, choosers, few)
                    verdict = search.search(MOST_NODES, over)
                else:
                    verdict, by_timetable = self._settled(thread, question, search, deadline, over)
            if verdict.impossible:
                self._refute(node, _Leaf(question, by_timetable))
            if verdict.plan is None:
                return None
        return verdict.plan

    def _settled(
        self,
        thread: int,
        question: _Question,
        search: DepthFirst,
        deadline: float,
        over: Callable[[], bool],
    ) -> tuple[Verdict, bool]:
        """The answer of the engines in turn, and whether constraint programming gave it."""
        nodes, seconds = 2 * FIRST_NODES, FIRST_SECONDS
        while not over() and (search.able or self._timetables.able):
            time = min(seconds, deadline - perf_counter())
            verdict = self._ask(thread, question, time, 1 + self._idle)
            if verdict is not NOT_KNOWN:
                return verdict, True
            verdict = search.search(nodes, over)
            if verdict is not NOT_KNOWN:
                return verdict, False
            nodes, seconds = 2 * nodes, 2 * seconds
        return NOT_KNOWN, False

    def _refute(self, node: _Node, leaf: _Leaf | None = None) -> None:
        """Note that a node is refuted, by an engine or by the bound."""
        with self._changed:
            node.refute(leaf)

    def _divide(self, node: _Node, classes: Classes, choosers: list[int], few: int) -> None:
        """Offer a part of a node for each class of the job of most work that has a choice."""
        job = max(choosers, key=lambda j: self._weights[j])
        with self._changed:
            node.parts = [
                _Node((*classes[:job], frozenset({one}), *classes[job + 1 :]), few, node)
                for one in sorted(classes[job], reverse=True)
            ]
            self._waiting += node.parts
            self._changed.notify_all()

    def _ask(self, thread: int, question: _Question, seconds: float, threads: int) -> Verdict:
        """Ask constraint programming."""
        target, classes, jobs = question
        left = [
            job.iterations_left if j in jobs else 0 for j, job in enumerate(self._instance.jobs)
        ]
        cut = self._bounds[thread].cut(
            target, lambda: self._stopped, classes, left, scale=CUT_SCALE
        )
        if cut is not None and cut.refutes:
            return Verdict(impossible=True)
        return self._timetables.ask(target, classes, jobs, cut, seconds, threads)

    def _kept(
        self,
        bound: Configurations,
        classes: Classes,
        jobs: Sequence[int],
        target: int,
        over: Callable[[], bool],
    ) -> Classes | None:
        """The classes without those of some jobs that the bound refutes; None if none is left."""
        before = classes
        for j in jobs:
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


def _choosers(question: _Question) -> list[int]:
    """The jobs that have a choice of classes."""
    return [j for j in question.jobs if len(question.classes[j]) > 1]
