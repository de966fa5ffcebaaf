"""Prove that no schedule is as short as a target, or find one: branching on classes of placements.

A node says which classes each job may take. At a node the configuration bound is asked first: as a
whole, and with a job in one of its classes, which is left out if the bound refutes it. Then
constraint programming is asked for a while. If it has no answer, the node becomes one node for each
class of a job. A target is refuted once all of its nodes are.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from time import perf_counter

from rarmodel.bounds.configurations import Configurations
from rarmodel.schema import Instance
from rarmodel.search import Solution

from .timetable import Timetables

FIRST_SECONDS = 5.0
"""Time for constraint programming at a node."""
GROWTH = 1.5
"""The same grows from one level of nodes to the next: deeper nodes are smaller, and fewer."""

MOST_SECONDS = 1e6
"""Time for constraint programming at a node where no job has a choice."""

Node = tuple[frozenset[int], ...]
"""(jobs) Classes that a job may take, by index."""


class Outcome(Enum):
    """What is known of a target."""

    REFUTED = "no schedule is that short"
    FOUND = "a schedule is that short"
    OPEN = "not known in time"


class Refutation:
    """Refutes targets of one plain instance.

    Parameters
    ----------
    instance
        The problem.
    threads
        Threads for constraint programming.

    Attributes
    ----------
    fits
        Whether the instance is small enough; otherwise nothing can be asked.
    solution
        The last schedule found.
    """

    def __init__(self, instance: Instance, threads: int) -> None:
        self.solution: Solution | None = None
        self._threads = threads
        self._bound = Configurations(instance)
        self.fits = self._bound.fits
        if not self.fits:
            return
        self._timetables = Timetables(instance, self._bound.spreadings)
        self._weights = [job.size * job.iterations_left for job in instance.jobs]
        self._root: Node = tuple(
            frozenset(range(len(spreadings))) for spreadings in self._bound.spreadings
        )

    def decide(self, target: int, deadline: float) -> Outcome:
        """Whether a schedule has at most the target's length, in slots.

        Parameters
        ----------
        target
            Slots.
        deadline
            The reading of `time.perf_counter` at which to stop.
        """

        def over() -> bool:
            return perf_counter() >= deadline

        nodes = [(self._root, FIRST_SECONDS)]
        while nodes:
            node, seconds = nodes.pop()
            probed = self._probed(node, target, over)
            if probed is None:
                continue
            left = deadline - perf_counter()
            if left <= 0:
                return Outcome.OPEN
            job = self._to_branch(probed)
            time = min(left, MOST_SECONDS if job is None else seconds)
            cut = self._bound.cut(target, probed, over)
            verdict = self._timetables.ask(target, probed, cut, time, self._threads)
            if verdict.solution is not None:
                self.solution = verdict.solution
                return Outcome.FOUND
            if verdict.impossible:
                continue
            if job is None or over():
                return Outcome.OPEN
            for one in sorted(probed[job], reverse=True):
                child = (*probed[:job], frozenset({one}), *probed[job + 1 :])
                nodes.append((child, GROWTH * seconds))
        return Outcome.REFUTED

    def _probed(self, node: Node, target: int, over: Callable[[], bool]) -> Node | None:
        """A node without the classes that the bound refutes; None if none of its is left."""
        if self._bound.refuted(target, over, node):
            return None
        before = node
        for j in sorted(range(len(node)), key=lambda j: -self._weights[j]):
            if len(node[j]) == 1:
                continue
            kept = set(node[j])
            for one in sorted(node[j], reverse=True):
                if over():
                    return node
                if len(kept) == 1:
                    break
                alone = (*node[:j], frozenset({one}), *node[j + 1 :])
                if self._bound.refuted(target, over, alone):
                    kept.discard(one)
            node = (*node[:j], frozenset(kept), *node[j + 1 :])
        if node != before and self._bound.refuted(target, over, node):
            return None
        return node

    def _to_branch(self, node: Node) -> int | None:
        """The job of most work of those with a choice; None if no job has one."""
        choosers = [j for j, classes in enumerate(node) if len(classes) > 1]
        return max(choosers, key=lambda j: self._weights[j], default=None)
