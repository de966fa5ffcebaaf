"""Instances and schedules that are hard to show: names like HTML or TeX, faults, many jobs."""

from __future__ import annotations

from documents import assignment_data, instance_of, job_data, schedule_of

from rarmodel.schema import Assignment, Instance, Schedule

MARKUP = "<script>alert(1)</script>"
TEX = "$$x^2$$"
ENTITY = "a&amp;<b>\"'"


def with_markup() -> tuple[Instance, Schedule]:
    """Names of everything that look like HTML or TeX; the schedule breaks constraints, too."""
    instance = instance_of(
        job_data(MARKUP, gpus=3, iterations=40),
        job_data(TEX, iterations=20),
        job_data(ENTITY, iterations=20),
    )
    servers = [
        server.model_copy(update={"name": name})
        for server, name in zip(instance.cluster.servers, (MARKUP, TEX), strict=True)
    ]
    cluster = instance.cluster.model_copy(update={"servers": tuple(servers)})
    instance = instance.model_copy(
        update={"name": MARKUP, "description": MARKUP, "cluster": cluster}
    )
    schedule = schedule_of(
        assignment_data(MARKUP, 0, **{MARKUP: [0, 1], TEX: [0]}),
        assignment_data(TEX, 0, **{TEX: [1]}),
        assignment_data(ENTITY, 1, **{TEX: [1]}),
    )
    return instance, schedule.model_copy(update={"method": TEX, "instance": MARKUP + "2"})


def of_many_jobs(jobs: int, servers: int) -> tuple[Instance, Schedule]:
    """Servers of 8 GPUs, and jobs of 2 GPUs one after another on each; some on two servers."""
    instance = instance_of(
        *(job_data(f"j{i}", gpus=2, iterations=390) for i in range(jobs)),
        servers=[8] * servers,
        horizon=100 * jobs,
    )
    assignments = []
    for i in range(jobs):
        turn, place = divmod(i, servers * 4)
        server, pair = divmod(place, 4)
        gpus: dict[str, tuple[int, ...]] = {f"s{server}": (2 * pair, 2 * pair + 1)}
        if pair == 3 and server % 2 == 0 and server + 1 < servers:
            gpus = {f"s{server}": (6,), f"s{server + 1}": (6,)}
        elif pair == 3 and server % 2 == 1:
            gpus = {f"s{server - 1}": (7,), f"s{server}": (7,)}
        assignments.append(Assignment(job=f"j{i}", start=40 * turn, gpus=gpus))
    schedule = Schedule(
        schema_version=1, instance=instance.name, method="turns", assignments=tuple(assignments)
    )
    return instance, schedule
