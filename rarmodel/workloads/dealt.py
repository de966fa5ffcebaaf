"""Keep the jobs of a trace within trees of switches that no switch joins."""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.schema import Cluster

from .candidates import Books, Candidate
from .switch_trees import Dealing, Tree


def kept_to_trees(
    found: Sequence[Candidate], cluster: Cluster, trees: Sequence[Tree], books: Books
) -> list[Candidate]:
    """The same rows, each of several GPUs on the servers of one tree.

    Parameters
    ----------
    found
        Rows that may become jobs.
    cluster
        The cluster.
    trees
        Trees that no switch joins; none if every ring may go anywhere.
    books
        Gets the rows for which no tree has the GPUs, and those whose tree was chosen.
    """
    if not trees:
        return [*found]
    gpus = {server.name: server.gpus for server in cluster.servers}
    types = {server.name: server.gpu_type for server in cluster.servers}
    dealing, kept = Dealing(trees, gpus), list[Candidate]()
    for one in found:
        place = one.place
        allowed = {
            name
            for name in (gpus if place.servers is None else place.servers)
            if place.types is None or types[name] in place.types
        }
        within = {tree.root: [name for name in tree.nodes if name in allowed] for tree in trees}
        totals = {root: sum(gpus[name] for name in names) for root, names in within.items()}
        room = [tree for tree in trees if totals[tree.root] >= one.gpus]
        if one.gpus == 1:
            kept.append(one)
        elif not room:
            most = max(totals.values())
            reason = f"more GPUs than the {most} of one tree of switches, and no switch joins them"
            books.leave_out(one.line, reason)
        else:
            tree = dealing.deal(one.name, room, one.gpus * one.seconds)
            servers = tuple(within[tree.root])
            here = place._replace(servers=servers, gpus=totals[tree.root])
            kept.append(one._replace(place=here))
            if len(room) > 1:
                books.note(one.line, "kept to the tree of switches with least work so far")
    return kept
