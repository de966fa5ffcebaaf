"""Parts of instances: small, valid, and with the features of the whole."""

from __future__ import annotations

import json
from random import Random
from time import process_time

import pytest
from wide_instances import FEATURES, random_wide

from rarmodel.files import parse_instance, to_json
from rarmodel.model import features, job_extremes, topology
from rarmodel.model.part import MOST_SERVERS, part_of
from rarmodel.schema import Cluster, Instance, Link, Server, Spread, StarNetwork
from rarmodel.schema.cluster import TreeNetwork


@pytest.mark.parametrize("seed", range(40))
def test_a_part_is_an_instance(seed: int) -> None:
    random = Random(seed)
    some = random.sample(tuple(FEATURES), random.randint(0, len(FEATURES)))
    instance = random_wide(random, some, jobs=4)
    part = part_of(instance, 2)
    assert [job.name for job in part.jobs] == [job.name for job in instance.jobs[:2]]
    # It passes every check of a file, too.
    assert parse_instance(to_json(part), "part") == part
    assert set(features.used(part)) <= set(features.used(instance))


def many_servers() -> Instance:
    data = json.loads(to_json(random_wide(Random(0), (), jobs=3)))
    instance = Instance.model_validate(data)
    cluster = Cluster(
        servers=tuple(Server(name=f"s{i}", gpus=1 + i % 400) for i in range(20_000)),
        network=StarNetwork(kind="star", gbps=10.0),
        intra_server_gbps=100.0,
        reduction_gbps=100.0,
    )
    return instance.model_copy(update={"cluster": cluster})


def test_a_part_of_many_servers_is_small() -> None:
    part = part_of(many_servers())
    assert len(part.cluster.servers) == MOST_SERVERS
    assert max(server.gpus for server in part.cluster.servers) <= 64
    assert job_extremes(part)


def test_a_ring_within_a_rack_has_room_in_a_part_of_which_no_rack_has_enough() -> None:
    random = Random(0)
    instance = random_wide(random, (features.LEVELS.name,), jobs=2, servers=4)
    servers = tuple(Server(name=f"s{i}", gpus=1 + (i % 10 == 0)) for i in range(2_000))
    below = [Link(node=s.name, parent=f"r{i // 10}", gbps=9.0) for i, s in enumerate(servers)]
    racks = [Link(node=f"r{i}", parent="core", gbps=9.0, level="rack") for i in range(200)]
    network = TreeNetwork(kind="tree", links=(*below, *racks))
    update = {"servers": servers, "network": network}
    job = instance.jobs[0].model_copy(update={"gpus": 8, "spread": Spread(within="rack")})
    whole = instance.model_copy(
        update={"cluster": instance.cluster.model_copy(update=update), "jobs": (job,)}
    )
    assert job_extremes(whole)
    assert job_extremes(part_of(whole))


def test_a_cluster_has_one_topology() -> None:
    instance = many_servers()
    first = topology(instance.cluster)
    begun = process_time()
    for _ in range(100):
        assert topology(instance.cluster) is first
    assert process_time() - begun < 0.1
    assert topology(instance.model_copy(update={"jobs": instance.jobs[:1]}).cluster) is first
