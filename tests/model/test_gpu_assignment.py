"""Numbers of GPUs: the lowest free ones, whatever the size of a server."""

from __future__ import annotations

from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st

from rarmodel.model.gpu_assignment import Free, Stay, number_gpus
from rarmodel.schema import Cluster, Server, StarNetwork


@given(held=st.sets(st.integers(0, 11)), data=st.data())
@settings(deadline=None)
def test_the_lowest_free_one_is_taken(held: set[int], data: st.DataObject) -> None:
    free, taken = Free(12), list[int](sorted(held))
    free.hold(sorted(held))
    naive = [gpu for gpu in range(12) if gpu not in held]
    for _ in range(30):
        assert free.many == len(naive)
        if naive and (not taken or data.draw(st.booleans())):
            gpu = min(naive)
            assert free.take() == gpu
            naive.remove(gpu)
            taken.append(gpu)
        elif taken:
            back = taken.pop(data.draw(st.integers(0, len(taken) - 1)))
            free.release([back])
            naive.append(back)


def test_ten_million_gpus_are_not_gone_through() -> None:
    cluster = Cluster(
        servers=(Server(name="s", gpus=9_999_999),),
        network=StarNetwork(kind="star", gbps=1.0),
        intra_server_gbps=1.0,
        reduction_gbps=1.0,
    )
    stays = [
        Stay(0, 9, {}, {"s": (5, 9_999_998)}),
        *(Stay(i, i + 2, {0: 3}) for i in range(10)),
    ]
    begun = process_time()
    numbers = number_gpus(cluster, stays)
    assert process_time() - begun < 0.5
    assert [one["s"] for one in numbers[1:4]] == [(0, 1, 2), (3, 4, 6), (0, 1, 2)]
