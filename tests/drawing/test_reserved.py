"""Reserved GPUs are drawn where no job is, and as many as the reservations say."""

from __future__ import annotations

from math import inf

from documents import instance_data, job_data
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.drawing.reserved import Away, Hold, away_areas, blocks
from rarmodel.files import parse_instance
from rarmodel.schema import Instance

LAST = 14
GPUS = 4


def instance_with(*reservations: tuple[int, int, int | None]) -> Instance:
    """One server of 4 GPUs; reservations are GPUs, begin and end."""
    data = instance_data(job_data("a"), servers=(GPUS,))
    data["cluster"]["reservations"] = [
        {"server": "s0", "gpus": gpus, "from": start, **({} if end is None else {"to": end})}
        for gpus, start, end in reservations
    ]
    return parse_instance(data)


def areas(instance: Instance, *holds: tuple[int, float, tuple[int, ...]]) -> tuple[Away, ...]:
    return away_areas(instance, {0: [Hold(*hold) for hold in holds]})


@st.composite
def situations(draw: st.DrawFn) -> tuple[Instance, list[tuple[int, float, tuple[int, ...]]]]:
    reservations = []
    room = [GPUS] * (LAST + 1)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, LAST - 1))
        end = draw(st.none() | st.integers(start + 1, LAST))
        span = range(start, LAST + 1 if end is None else end)
        left = min(room[slot] for slot in span)
        if left:
            gpus = draw(st.integers(1, left))
            reservations.append((gpus, start, end))
            for slot in span:
                room[slot] -= gpus
    holds = []
    for _ in range(draw(st.integers(0, 6))):
        begin = draw(st.integers(0, LAST))
        until = draw(st.just(inf) | st.integers(begin + 1, LAST + 3))
        held = draw(st.sets(st.integers(0, GPUS - 1), min_size=1))
        holds.append((begin, until, tuple(sorted(held))))
    return instance_with(*reservations), holds


@given(situations())
def test_as_many_gpus_are_away_as_are_reserved_and_idle(
    situation: tuple[Instance, list[tuple[int, float, tuple[int, ...]]]],
) -> None:
    instance, holds = situation
    found = areas(instance, *holds)
    for slot in range(LAST + 4):
        held = {gpu for start, end, gpus in holds if start <= slot < end for gpu in gpus}
        shown = [
            (area.reservation, gpu)
            for area in found
            if area.start <= slot < (inf if area.end is None else area.end)
            for gpu in range(area.first, area.first + area.gpus)
        ]
        gpus = [gpu for _, gpu in shown]
        assert len(set(gpus)) == len(gpus)
        assert not held & set(gpus)
        assert all(0 <= gpu < GPUS for gpu in gpus)
        reserved = GPUS - instance.cluster.capacity(0, slot)
        assert len(gpus) == min(reserved, GPUS - len(held))
        for i, _ in shown:
            one = instance.cluster.reservations[i]
            assert one.start <= slot < (inf if one.end is None else one.end)


def test_reservation_is_one_block_if_gpus_stay_idle_for_all_of_it() -> None:
    instance = instance_with((2, 3, 9))
    # GPU 3 is idle when the reservation begins, but a job takes it before the end.
    found = areas(instance, (0, 5, (0,)), (5, 12, (3,)))
    assert found == (Away(0, 0, 1, 2, 3, 9),)


def test_reservation_without_end_never_ends() -> None:
    assert areas(instance_with((4, 2, None))) == (Away(0, 0, 0, 4, 2, None),)
    assert areas(instance_with((4, 2, None)), (0, inf, (0, 1))) == (Away(0, 0, 2, 2, 2, None),)


def test_reservation_moves_where_a_job_takes_its_gpus() -> None:
    found = areas(instance_with((1, 0, 6)), (0, 3, (0, 1, 2)), (3, 6, (1, 2, 3)))
    assert found == (Away(0, 0, 3, 1, 0, 3), Away(0, 0, 0, 1, 3, 6))


@given(st.sets(st.integers(0, 30)))
def test_blocks_are_runs_of_adjacent_gpus(gpus: set[int]) -> None:
    found = blocks(sorted(gpus))
    assert {gpu for first, count in found for gpu in range(first, first + count)} == gpus
    assert all(first + count not in gpus and first - 1 not in gpus for first, count in found)
