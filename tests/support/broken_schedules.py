"""Schedules made worse."""

from __future__ import annotations

from random import Random

from rarmodel.schema import Schedule


def broken(schedule: Schedule, random: Random) -> Schedule:
    """The schedule with one assignment changed into something that may make no sense."""
    assignments = list(schedule.assignments)
    i = random.randrange(len(assignments))
    one = assignments[i]
    servers = [*one.gpus, "s0", "s3", "nowhere"]
    server = random.choice(servers)
    held = one.gpus.get(server, ())
    match random.randrange(8):
        case 0:
            del assignments[i]
        case 1:
            assignments.append(one)
        case 2:
            assignments[i] = one.model_copy(update={"job": random.choice(["nobody", "j0", "j1"])})
        case 3:
            assignments[i] = one.model_copy(update={"start": random.choice([-3, -1, 0, 40, 500])})
        case 4:
            assignments[i] = one.model_copy(update={"gpus": {}})
        case 5:
            gpus = {**one.gpus, server: (*held, random.choice([-1, 0, 1, 2, 99]))}
            assignments[i] = one.model_copy(update={"gpus": gpus})
        case 6:
            assignments[i] = one.model_copy(update={"gpus": {**one.gpus, server: held[1:]}})
        case _:
            assignments[i] = one.model_copy(update={"gpus": {**one.gpus, server: held * 2}})
    return schedule.model_copy(update={"assignments": tuple(assignments)})
