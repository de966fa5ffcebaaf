"""What is left of a cluster for jobs that have yet to start, and jobs that are to fit there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rarmodel.schema import Cluster, Job


class Left(NamedTuple):
    """What is left of a cluster.

    Attributes
    ----------
    cluster
        Servers with as many GPUs as are left; a server has one at least, as a cluster needs it.
    gpus
        By name of the server, how many are left.
    """

    cluster: Cluster
    gpus: Mapping[str, int]

    def job(self, job: Job, sizes: Sequence[int]) -> Job:
        """A job on the servers of which something is left, in some of its ring sizes.

        It has no servers if there is no size.
        """
        names = [name for name in job.servers or self.gpus if self.gpus[name] > 0]
        update = {"gpus": tuple(sizes or job.sizes), "servers": tuple(names if sizes else ())}
        return job.model_copy(update=update)


def left_of(cluster: Cluster, away: Mapping[str, int]) -> Left:
    """What is left of a cluster without some GPUs of each server, by name; nobody reserves it."""
    gpus = {
        server.name: max(0, server.gpus - away.get(server.name, 0)) for server in cluster.servers
    }
    servers = tuple(
        server.model_copy(update={"gpus": max(1, gpus[server.name])}) for server in cluster.servers
    )
    return Left(cluster.model_copy(update={"servers": servers, "reservations": ()}), gpus)
