"""Jobs that hold GPUs now, as running jobs of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from .account import Bookkeeper
from .node_choice import UnusableError
from .nodes import GpuNode
from .shapes import with_gpus
from .told_jobs import Told
from .work import Fields, Work

AT_THE_END = " (ending)"
"""Behind the name of a job whose pods are being deleted."""


class RunningJobs:
    """Makes running jobs of the model.

    Parameters
    ----------
    nodes
        The nodes of the instance.
    work
        The work of jobs.
    books, notes
        Get what became of each object, and jobs by what is said of them.
    """

    def __init__(
        self,
        nodes: Mapping[str, GpuNode],
        work: Work,
        books: Bookkeeper,
        notes: Mapping[str, list[str]],
    ) -> None:
        self._nodes, self._work, self._books, self._notes = nodes, work, books, notes
        self._next_gpu = Counter[str]()

    def of(self, told: Told) -> list[Fields]:
        """The job, if it holds GPUs now; and once more, if pods of it are about to let go."""
        standing = told.standing
        if told.is_service:
            return []
        held, ending = dict(standing.held), Counter(standing.ending)
        if told.ended or told.deleted:
            held, ending = {}, ending + Counter(held)
        made = []
        unknown = sorted({*held, *ending} - {*self._nodes})
        known = {name: count for name, count in held.items() if name in self._nodes}
        ending = Counter({name: n for name, n in ending.items() if name in self._nodes})
        if unknown and not known and not ending:
            reason = f"runs on {unknown[0]!r}, which is left out or not in the files"
            self._books.leave_out(reason, *told.family.keys)
            return []
        if known and len(known) < len(held):
            note = (
                "some of their nodes are left out: on the others they hold GPUs, without exchange"
            )
            self._notes[note].append(told.name)
            slots = self._work.slots(self._work.duration(told))
            made += self._idle_rings(told, known, "", slots)
        elif known:
            made += self._all_holding(told, known)
        if ending:
            some = self._idle_rings(told, ending, AT_THE_END if not told.ended else "", 1)
            note = "about to let their GPUs go: they hold them for a slot"
            self._notes[note] += [one["name"] for one in some]
            made += some
        if made:
            self._books.use(*told.keys)
        return made

    def _all_holding(self, told: Told, held: Mapping[str, int]) -> list[Fields]:
        """A job that holds GPUs now, or a job for each part of a GPU that it holds, if several."""
        if not any(self._nodes[name].has_parts for name in held):
            return [self._holding(told, held)]
        if sum(held.values()) == 1:
            return [self._work.on_part(told, self._holding(told, held))]
        self._notes["each part of a GPU that they hold is a job of its own"].append(told.name)
        return self._idle_rings(told, held, "", self._work.slots(self._work.duration(told)))

    def _holding(self, told: Told, held: Mapping[str, int]) -> Fields:
        """A job that holds GPUs now: a ring, or what there is of one that lacks pods."""
        standing = told.standing
        try:
            wanted = sum(one.number for one, _ in with_gpus(told.pods)) if told.expects else 0
        except UnusableError:
            wanted = 0
        lacks = standing.placed + standing.over < wanted or (not wanted and standing.waiting)
        slots = self._work.slots(self._work.duration(told))
        if lacks:
            note = "some of their pods lack GPUs: the others hold theirs, and exchange nothing"
            self._notes[note].append(told.name)
            return self._idle_ring(told, held, "", slots)
        if told.why_not:
            self._notes[f"held as one ring, though {told.why_not}"].append(told.name)
        size, first = sum(held.values()), next(iter(held))
        fields = self._work.content(told, size, self._nodes[first].gpu_type)
        passed = 0 if standing.started is None else -self._work.at(standing.started)
        if passed >= slots:
            self._notes["past their duration: one slot more"].append(told.name)
        left = max(1, slots - passed)
        fields["iterations"] = max(slots, left)
        done = fields["iterations"] - left
        fields["running"] = {"gpus": self._numbered(held), "iterations_done": done}
        return fields

    def _idle_rings(
        self, told: Told, held: Mapping[str, int], suffix: str, slots: int
    ) -> list[Fields]:
        """The same of whole GPUs together, and of each part of a GPU by itself."""
        whole = {name: count for name, count in held.items() if not self._nodes[name].has_parts}
        parts = [name for name, n in held.items() if name not in whole for _ in range(n)]
        made = [self._idle_ring(told, whole, suffix, slots)] if whole else []
        for number, name in enumerate(parts, 1):
            own = f" (part {number})" if len(held) > 1 or len(parts) > 1 else ""
            one = self._idle_ring(told, {name: 1}, f"{own}{suffix}", slots)
            made.append(self._work.on_part(told, one))
        return made

    def _idle_ring(self, told: Told, held: Mapping[str, int], suffix: str, slots: int) -> Fields:
        """Pods that hold GPUs for so many slots, and exchange nothing."""
        fields = self._work.idle(told, told.name + suffix, sum(held.values()), slots)
        return fields | {"running": {"gpus": self._numbered(held), "iterations_done": 0}}

    def _numbered(self, held: Mapping[str, int]) -> dict[str, list[int]]:
        """Indices of GPUs: pods do not tell which they have, so they are numbered in turn.

        Of a node with parts of GPUs it is one part.
        """
        found = {}
        for name, count in held.items():
            first, slices = self._next_gpu[name], self._nodes[name].slices
            self._next_gpu[name] += count
            found[name] = sorted({number // slices for number in range(first, first + count)})
        return found
