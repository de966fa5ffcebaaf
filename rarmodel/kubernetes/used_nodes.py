"""The nodes and the network of a cluster that an instance has, as the model's cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from rarmodel.errors import InputError, Problem
from rarmodel.schema import Cluster, TreeNetwork
from rarmodel.workloads.cluster_rates import Rates, cluster_of

from .account import Bookkeeper
from .cluster import Objects
from .network import Network, network_of
from .nodes import GpuNode, by_number, gpu_node
from .objects import Key
from .schema import HyperNode, Node, Topology
from .told_jobs import Told


def used_nodes(
    found: Mapping[str, tuple[Key, GpuNode]],
    told: Iterable[Told],
    books: Bookkeeper,
    notes: Mapping[str, list[str]],
    name: str,
) -> dict[str, GpuNode]:
    """Nodes with GPUs that jobs hold or may use, in the order of their names.

    Parameters
    ----------
    found, told
        The nodes with GPUs, by name, and the jobs.
    books, notes
        Get what became of each node, and nodes by what is said of them.
    name
        Name of the cluster.

    Raises
    ------
    InputError
        If there are none.
    """
    of_services, of_jobs = Counter[str](), Counter[str]()
    for job in told:
        held = Counter(job.standing.held) + Counter(job.standing.ending)
        (of_services if job.is_service else of_jobs).update(held)
    used: dict[str, GpuNode] = {}
    for node in sorted(found, key=by_number):
        key, one = found[node]
        # Of pieces that are parts, services take whole GPUs of the instance.
        services, jobs = (-(-some[node] // one.slices) for some in (of_services, of_jobs))
        gpus = max(one.gpus, services + jobs) - services
        if one.slices > 1 and services and services + jobs > one.gpus:
            books.leave_out("services and jobs have parts of the same GPUs there", key)
            continue
        if one.away and not jobs:
            books.leave_out(f"{one.away}, and no job runs there", key)
        elif gpus == 0:
            books.leave_out("services hold all its GPUs", key)
        else:
            books.use(key)
            used[node] = one._replace(gpus=gpus)
            if one.away:
                notes[f"{one.away}: no further job starts there"].append(node)
            if services:
                note = "services hold GPUs there, which are not in the instance"
                notes[note].append(f"{node} ({services})")
            if one.slices > 1:
                note = "equal parts of their GPUs are slices (gpu_slices)"
                notes[note].append(f"{node} ({one.slices} of each)")
            if one.parts:
                notes["parts of GPUs there are not in the instance"].append(node)
    if not used:
        message = "no node has GPUs that jobs could use; nodes are needed, as "
        message += "`kubectl get nodes -o json` prints them"
        raise InputError([Problem("", message)], name)
    return used


def gpu_nodes(read: Objects, books: Bookkeeper, *, parts: bool) -> dict[str, tuple[Key, GpuNode]]:
    """The nodes with GPUs by name; the books say why others are left out.

    Parameters
    ----------
    read
        The objects of the cluster.
    books
        Get what became of the others.
    parts
        Whether nodes with equal parts of GPUs are wanted.
    """
    found: dict[str, tuple[Key, GpuNode]] = {}
    for key, node in read.of(Node).items():
        try:
            made = gpu_node(node)
        except ValueError as error:
            made = f"not as Kubernetes writes it: {error}"
        if not isinstance(made, str) and made.has_parts and not parts:
            made = "its GPUs are in parts, which are not wanted"
        if isinstance(made, str):
            books.leave_out(made, key)
        else:
            found[key.name] = key, made
    return found


def used_network(
    read: Objects,
    nodes: Mapping[str, GpuNode],
    labels: tuple[str, ...],
    books: Bookkeeper,
    notes: Mapping[str, list[str]],
) -> Network | None:
    """The network above the nodes; None if nothing tells of it.

    Parameters
    ----------
    read, nodes
        The objects of the cluster, and its nodes with GPUs.
    labels
        Labels of the levels that the user names, from the top.
    books, notes
        Get what became of each object, and nodes by what is said of them.
    """
    topologies, hyper = read.of(Topology), read.of(HyperNode)
    network = network_of(
        {name: node.labels for name, node in nodes.items()},
        [*topologies.values()],
        [*hyper.values()],
        labels,
    )
    if network is None:
        return None
    by_hyper_nodes = "HyperNodes" in network.source
    books.use(*(key for key in topologies if network.source.endswith(f"topology {key.name!r}")))
    if by_hyper_nodes:
        books.use(*hyper)
    else:
        depth = len(network.levels)
        below = [name for name, path in network.above.items() if len(path) < depth]
        notes["lack labels of the network"] += below
    return network


def used_cluster(
    nodes: Mapping[str, GpuNode], network: Network | None, rates: Rates, name: str
) -> Cluster:
    """Nodes and network as the model's cluster, with the names of the levels.

    Parameters
    ----------
    nodes, network
        The nodes with GPUs, and the network above them; None for a star.
    rates
        Rates of the network.
    name
        Name of the cluster.
    """
    gpus = {one: node.gpus for one, node in nodes.items()}
    types = {one: node.gpu_type for one, node in nodes.items()}
    parents, level_of = network.tree("cluster") if network else (None, {})
    slices = {one: node.slices for one, node in nodes.items()}
    made = cluster_of(gpus, parents, rates, name, types, slices)
    if not isinstance(made.network, TreeNetwork) or not level_of:
        return made
    links = tuple(
        link.model_copy(update={"level": level_of[link.node]}) if link.node in level_of else link
        for link in made.network.links
    )
    return made.model_copy(update={"network": made.network.model_copy(update={"links": links})})
