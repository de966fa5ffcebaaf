"""Which jobs rarmodel may touch, and which only an operator of Slurm may change."""

from __future__ import annotations

from .queue import Queue
from .queue_choices import Choices
from .slurm_jobs import SlurmJob


def why_not(job: SlurmJob, queue: Queue, choices: Choices) -> str:
    """Why rarmodel may not touch a job; empty if it may."""
    if not job.is_held:
        return "not held"
    if not job.is_marked and job.id not in choices.named:
        return "held and not marked"
    if job.id in choices.left:
        return "held by someone since rarmodel released it"
    if job.is_held_by_slurm:
        return "held by Slurm after it was requeued; who releases it should look at it first"
    if is_operator(queue, choices) or choices.user is None:
        return ""
    if job.uid != choices.user:
        return "held, and another user's; with --operator an operator of Slurm plans them"
    if job.is_held_by_operator:
        return "held by an operator of Slurm, who alone can release them"
    return ""


def is_operator(queue: Queue, choices: Choices) -> bool:
    """Whether the user may change every job: root, Slurm's own user, and who says so."""
    return choices.operator or choices.user in {0, queue.slurm_user} - {None}
