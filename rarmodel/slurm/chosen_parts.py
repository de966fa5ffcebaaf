"""Which part of a cluster a job of several nodes gets, where no ring crosses between parts."""

from __future__ import annotations

from collections.abc import Container, Iterable

from rarmodel.workloads.switch_trees import Dealing

from .caveats import TREES, TYPES
from .jobs_to_plan import Notes
from .queue import Queue
from .queue_choices import Choices
from .requests import Request, UnusableError, within
from .ring_parts import Speeds, parts_of
from .slurm_jobs import SlurmJob


class ChosenParts:
    """The parts of a cluster, and which job gets which.

    Parameters
    ----------
    queue, choices
        The queue, and the nodes of jobs in a plan.
    speeds
        How fast types of GPU are; none if that is not known.
    notes
        Gets the jobs for which a part was chosen.
    """

    def __init__(self, queue: Queue, choices: Choices, speeds: Speeds, notes: Notes) -> None:
        self._queue, self._choices, self._notes = queue, choices, notes
        self._parts = parts_of(queue, speeds)
        gpus = {name: node.gpus for name, node in queue.nodes.items()}
        self._dealing = Dealing(self._parts.parts, gpus)
        self._chosen = set[tuple[str, str]]()

    def load(self, nodes: Iterable[str], work: float) -> None:
        """Note work, in GPUs times seconds, that is on some nodes in any case."""
        self._dealing.load(nodes, work)

    def caveats(self, jobs: Container[str]) -> list[str]:
        """What was chosen for some jobs that had a choice, a sentence each."""
        return sorted({told for name, told in self._chosen if name in jobs})

    def of(self, job: SlurmJob, request: Request, seconds: float) -> Request:
        """A request on the nodes of one part of the cluster, if it may need several nodes.

        Raises
        ------
        UnusableError
            If no part has room for it.
        """
        parts, tree_of, type_of = self._parts
        if not parts or request.most_nodes == 1 or max(request.sizes) == 1:
            return request
        inside = {part.root: within(request, part, self._queue) for part in parts}
        room = [part for part in parts if inside[part.root] is not None]
        if not room:
            raise UnusableError(
                f"no tree of switches has room for it, and no switch joins the {len(parts)} trees"
                if not any(type_of.values())
                else "no type of GPU has room for it: --gpu-speed lets its ring have several"
            )
        planned = self._choices.placed.get(job.id, frozenset())
        if kept := [part for part in room if planned and planned <= {*part.nodes}]:
            room = kept
        part = self._dealing.deal(job.id, room, request.sizes[0] * seconds)
        if tree := tree_of[part.root]:
            self._notes[f"on the nodes below {tree!r}: no switch joins the trees"].append(job.id)
        if len({tree_of[one.root] for one in room}) > 1:
            self._chosen.add((job.id, TREES))
        if len({type_of[one.root] for one in room}) > 1:
            self._chosen.add((job.id, TYPES))
            told = f"on {type_of[part.root]} alone: nothing is known of how fast types of GPU are"
            self._notes[f"{told} (--gpu-speed)"].append(job.id)
        return inside[part.root] or request
