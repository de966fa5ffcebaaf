"""Keep the jobs of a trace within trees of switches that no switch joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rarmodel.schema import Cluster

from .candidates import Books, Candidate
from .site import Place
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
    # Many rows share a place, and clusters have thousands of servers.
    known: dict[int, dict[str, Place]] = {}
    for one in found:
        place = one.place
        if id(place) not in known:
            known[id(place)] = _within_trees(place, gpus, types, trees)
        within = known[id(place)]
        room = [tree for tree in trees if within[tree.root].gpus >= one.gpus]
        if one.gpus == 1:
            kept.append(one)
        elif not room:
            most = max(here.gpus for here in within.values())
            reason = f"more GPUs than the {most} of one tree of switches, and no switch joins them"
            books.leave_out_candidate(one, reason)
        else:
            tree = dealing.deal(one.name, room, one.gpus * one.seconds)
            kept.append(one._replace(place=within[tree.root]))
            if len(room) > 1:
                books.note(one.line, "kept to the tree of switches with least work so far")
    return kept


def _within_trees(
    place: Place,
    gpus: Mapping[str, int],
    types: Mapping[str, str | None],
    trees: Sequence[Tree],
) -> dict[str, Place]:
    """The part of a place that is in each tree, by the tree's root."""
    allowed = {
        name
        for name in (gpus if place.servers is None else place.servers)
        if place.types is None or types[name] in place.types
    }
    parts = {}
    for tree in trees:
        servers = tuple(name for name in tree.nodes if name in allowed)
        total = sum(gpus[name] for name in servers)
        parts[tree.root] = place._replace(servers=servers, gpus=total)
    return parts
