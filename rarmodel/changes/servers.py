"""More servers, fewer servers, and servers that are down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import count

from rarmodel import registry
from rarmodel.argument_checks import shown
from rarmodel.errors import UsageError, listed
from rarmodel.model.interruptions import checkpoint_interval, kept_iterations
from rarmodel.schema import Instance
from rarmodel.schema.cluster import MAX_GPUS, Link, Server, StarNetwork
from rarmodel.schema.job import Job

from .amounts import whole_of
from .gpu_types import with_types_that_are_there
from .network import with_cluster

Like = tuple[object, ...]
"""What makes servers alike."""


def more_or_fewer(instance: Instance, _: str, text: str) -> Instance:
    """The instance with more servers (`+4`, `+4:h100`, `+4:s0`), or fewer (`-2`, `-2:h100`).

    A new server is like its model in all but its name: its GPUs, its link, and the jobs that may
    use it. The model is the server that is named, or any server if all are alike, or all of the
    type. In a tree it hangs below its model's switch if that server is named, and otherwise below
    the switch with the fewest such servers. The last servers leave first.

    Raises
    ------
    UsageError
        If the text is malformed, or the servers are not alike.
    """
    number, _, whose = text.partition(":")
    if number[:1] not in {"+", "-"}:
        raise UsageError(f"{shown(text)}; +4 or -2 is expected, or +4:h100 of a type")
    how_many = whole_of(number[1:])
    among = _chosen(instance, whose)
    if number.startswith("+"):
        return _with_more(instance, how_many, among, beside=_is_server(instance, whose))
    if _is_server(instance, whose):
        raise UsageError(f"{whose!r} is a server; down={whose} takes it away")
    if how_many > len(among):
        raise UsageError(f"there are {len(among)} such servers; {how_many} cannot leave")
    return _without(instance, [server.name for server in among[-how_many:]])


def down(instance: Instance, _: str, name: str) -> Instance:
    """The instance without a server; jobs that run there wait again, from their last checkpoint.

    Raises
    ------
    UsageError
        If there is no such server, it is the last, or a job may use no other.
    """
    if not _is_server(instance, name):
        raise UsageError(_no_server(instance, name))
    return _without(instance, [name])


def _is_server(instance: Instance, name: str) -> bool:
    return any(server.name == name for server in instance.cluster.servers)


def _no_server(instance: Instance, name: str) -> str:
    names = [server.name for server in instance.cluster.servers]
    return f"no server {shown(name)}; there are {listed(names)}{registry.meant(name, names)}"


def _chosen(instance: Instance, whose: str) -> Sequence[Server]:
    """The servers that are meant: all, those of a type, or one."""
    servers = instance.cluster.servers
    if not whose:
        return servers
    if named := [server for server in servers if server.name == whose]:
        return named
    if typed := [server for server in servers if server.gpu_type == whose]:
        return typed
    types = list(dict.fromkeys(one.gpu_type for one in servers if one.gpu_type is not None))
    known = f"types are {listed(types)}, and " if types else ""
    names = [server.name for server in servers]
    raise UsageError(
        f"{whose!r} is no type and no server; {known}servers {listed(names)}"
        + registry.meant(whose, [*types, *names])
    )


def _with_more(
    instance: Instance, how_many: int, among: Sequence[Server], *, beside: bool
) -> Instance:
    """The instance with servers like some that are alike; `beside` them, or where few are."""
    links = {link.node: link for link in _links(instance)}
    lists = list(_lists_of_servers(instance.jobs))

    def like(server: Server) -> Like:
        link = links.get(server.name)
        member = tuple(i for i, some in enumerate(lists) if server.name in some)
        plain = server.model_copy(update={"name": ""})
        return plain, link and (link.gbps, link.level), member

    kinds: dict[Like, str] = {}
    for server in among:
        kinds.setdefault(like(server), server.name)
    if len(kinds) > 1:
        raise UsageError(
            f"the servers are not alike, such as {listed(list(kinds.values()))}: their GPUs, "
            f"their links or the jobs that may use them differ; name one, as in "
            f"servers=+{how_many}:{among[0].name}"
        )
    model = among[0]
    room = (MAX_GPUS - instance.cluster.total_gpus) // model.gpus
    if how_many > room:
        raise UsageError(f"{how_many:,} servers more; a cluster has at most {MAX_GPUS:,} GPUs")
    names = _new_names(instance, how_many)
    added = tuple(model.model_copy(update={"name": name}) for name in names)
    cluster = instance.cluster
    fields: dict[str, object] = {"servers": (*cluster.servers, *added)}
    if not isinstance(cluster.network, StarNetwork):
        link = links[model.name]
        below = Counter(links[server.name].parent for server in among)
        new = []
        for name in names:
            parent = link.parent if beside else min(below, key=lambda one: below[one])
            below[parent] += 1
            new.append(link.model_copy(update={"node": name, "parent": parent}))
        fields["network"] = cluster.network.model_copy(
            update={"links": (*cluster.network.links, *new)}
        )
    longer = {some: (*some, *names) for some in lists if model.name in some}
    jobs = instance.jobs
    if longer:
        jobs = tuple(
            job.model_copy(update={"servers": longer[job.servers]})
            if job.servers in longer
            else job
            for job in jobs
        )
    return with_cluster(instance.model_copy(update={"jobs": jobs}), **fields)


def _new_names(instance: Instance, how_many: int) -> list[str]:
    """Names that neither a server nor a switch has."""
    taken = {server.name for server in instance.cluster.servers}
    taken |= {name for link in _links(instance) for name in (link.node, link.parent)}
    free = (name for i in count(1) if (name := f"new-{i}") not in taken)
    return [next(free) for _ in range(how_many)]


def _links(instance: Instance) -> tuple[Link, ...]:
    network = instance.cluster.network
    return () if isinstance(network, StarNetwork) else network.links


def _lists_of_servers(jobs: Iterable[Job]) -> Iterator[tuple[str, ...]]:
    """The different lists of servers that jobs may use."""
    yield from dict.fromkeys(job.servers for job in jobs if job.servers is not None)


def _without(instance: Instance, names: Sequence[str]) -> Instance:
    """The instance without some servers."""
    gone, cluster = set(names), instance.cluster
    if len(gone) == len(cluster.servers):
        raise UsageError("no server would be left")
    left = tuple(server for server in cluster.servers if server.name not in gone)
    fields: dict[str, object] = {"servers": left}
    if cluster.reservations:
        fields["reservations"] = tuple(
            one for one in cluster.reservations if one.server not in gone
        )
    if not isinstance(cluster.network, StarNetwork):
        links = tuple(link for link in cluster.network.links if link.node not in gone)
        fields["network"] = cluster.network.model_copy(update={"links": links})

    @cache  # Lists are few, and jobs may be many.
    def still(some: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in some if name not in gone)

    stranded = [job.name for job in instance.jobs if job.servers and not still(job.servers)]
    if stranded:
        raise UsageError(f"jobs {listed(stranded)} may use no other server")
    jobs = tuple(_off(job, gone, still(job.servers or ())) for job in instance.jobs)
    fewer = with_cluster(instance.model_copy(update={"jobs": jobs}), **fields)
    return with_types_that_are_there(fewer)


def _off(job: Job, gone: set[str], servers: tuple[str, ...]) -> Job:
    """A job that no longer names servers: if it ran there, it waits, from its last checkpoint."""
    fields: dict[str, object] = {}
    if job.servers is not None and job.servers != servers:
        fields["servers"] = servers
    if job.running is not None and not gone.isdisjoint(job.running.gpus):
        kept = kept_iterations(job.running.iterations_done, checkpoint_interval(job))
        fields |= {"running": None, "iterations": job.iterations - kept}
    return job.model_copy(update=fields) if fields else job
