"""Which jobs may be interrupted, and what an interruption costs them (sections 11 and 18).

These are plain functions, as those of `timing`: the verifier calls them, and the engine compiles
the one about numbers.
"""

from __future__ import annotations

from rarmodel.schema import Instance, Job

from .caching import once_per_instance

NO_CHECKPOINTS = 0
"""Iterations between two checkpoints of a job that has none: an interruption loses all."""


def may_stop(instance: Instance, job: Job) -> bool:
    """Whether a job may be interrupted: the instance and the job must allow it."""
    return instance.preemption is not None and job.preemptible


@once_per_instance
def interrupts(instance: Instance) -> bool:
    """Whether some job may be interrupted. If none may, this is an instance without preemption."""
    return instance.preemption is not None and any(job.preemptible for job in instance.jobs)


def in_one_piece(instance: Instance) -> Instance:
    """The instance with jobs that are not interrupted: its schedules are some of the instance's."""
    if instance.preemption is None:
        return instance
    return instance.model_copy(update={"preemption": None})


def loses_work(instance: Instance, job: Job) -> bool:
    """Whether an interruption can cost a job iterations that it has done."""
    return may_stop(instance, job) and job.checkpoint_iterations != 1


def checkpoint_interval(job: Job) -> int:
    """Iterations between two checkpoints of a job; NO_CHECKPOINTS if it has none."""
    return NO_CHECKPOINTS if job.checkpoint_iterations is None else job.checkpoint_iterations


def kept_iterations(done: int, interval: int) -> int:
    """Iterations that a job keeps which is interrupted before it is complete.

    Those beyond the last checkpoint are lost. Checkpoints are at multiples of an interval, counted
    from the job's first iteration on; without an interval there are none.

    Parameters
    ----------
    done
        Iterations that it has done in all.
    interval
        Iterations between two checkpoints; NO_CHECKPOINTS if there are none.
    """
    return done // interval * interval if interval > 0 else 0


def left_if_moved(instance: Instance, job: Job) -> int:
    """Iterations to do of a job that does not go on at slot 0 where it runs then.

    Of one that does not run then, these are all.
    """
    if job.running is None or instance.preemption is None:
        return job.iterations_left
    kept = kept_iterations(job.running.iterations_done, checkpoint_interval(job))
    return job.iterations - kept
