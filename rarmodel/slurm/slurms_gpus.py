"""The GPUs that jobs of a plan get where some share them: Slurm takes the first with room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rarmodel.schema import Assignment, Instance


def first_with_room(
    instance: Instance,
    planned: Sequence[Assignment],
    ends: Mapping[str, int | None],
    *,
    fullest: bool = False,
) -> tuple[Assignment, ...] | None:
    """The jobs at their starts and on their servers, on the first GPUs with room, as Slurm does.

    None if some job finds none so.

    Parameters
    ----------
    instance
        The problem.
    planned
        Start, servers and GPUs of each job, in its order; running jobs keep their GPUs.
    ends
        The slot after the last of each job.
    fullest
        Whether GPUs come first that have least room, and not those with the least index.
    """
    servers = {server.name: server for server in instance.cluster.servers}
    slices = {name: instance.cluster.slices_of(server) for name, server in servers.items()}
    used = {name: [0] * server.gpus for name, server in servers.items()}
    jobs = {job.name: job for job in instance.jobs}
    active = list[tuple[int, Assignment]]()
    found: dict[str, Assignment] = {}

    def load(one: Assignment, sign: int) -> None:
        for name, gpus in one.gpus.items():
            for gpu in gpus:
                used[name][gpu] += sign * (jobs[one.job].slices or slices[name])

    for one in sorted(planned, key=lambda one: (one.start, jobs[one.job].running is None)):
        for pair in [pair for pair in active if pair[0] <= one.start]:
            active.remove(pair)
            load(pair[1], -1)
        if jobs[one.job].running is None:
            gpus = {
                name: tuple(
                    gpu
                    for gpu in sorted(
                        range(len(used[name])), key=lambda g: -used[name][g] * fullest
                    )
                    if used[name][gpu] + (jobs[one.job].slices or slices[name]) <= slices[name]
                )[: len(held)]
                for name, held in one.gpus.items()
            }
            if any(len(gpus[name]) < len(held) for name, held in one.gpus.items()):
                return None
            one = one.model_copy(update={"gpus": gpus})  # noqa: PLW2901 - the same job
        load(one, 1)
        active.append((ends[one.job] or one.start + 1, one))
        found[one.job] = one
    return tuple(found[one.job] for one in planned)
