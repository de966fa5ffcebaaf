"""Demand from logs of requests by minute."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from random import Random

import pytest
from serving_instances import demand, service, with_services

import rarmodel
from rarmodel.errors import InputError, UsageError
from rarmodel.workloads.requests import read_requests

LOG = "minute,requests\n2026-01-01 10:00,120\n2026-01-01 10:01,120\n2026-01-01 10:03,30\n"


def written(path: Path, text: str) -> str:
    (path / "log.csv").write_text(text, encoding="utf-8")
    return str(path / "log.csv")


def entries(log: str, slot_seconds: float, scale: float = 1.0) -> list[tuple[int, int, float]]:
    found = read_requests(log).demand(slot_seconds, scale=scale)
    return [(one.start, one.end, one.requests_per_second) for one in found]


def test_minutes_become_rates_in_slots(tmp_path: Path) -> None:
    log = written(tmp_path, LOG)
    assert entries(log, 60) == [(0, 2, 2.0), (3, 4, 0.5)]
    assert entries(log, 30) == [(0, 4, 2.0), (6, 8, 0.5)]
    assert entries(log, 120) == [(0, 1, 2.0), (1, 2, 0.5)]
    assert entries(log, 60, 2.5) == [(0, 2, 5.0), (3, 4, 1.25)]


@pytest.mark.parametrize("seed", range(20))
def test_no_minute_is_below_its_rate_in_any_slot(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    counts = {minute: random.randint(0, 500) for minute in random.sample(range(50), 20)}
    lines = [f"2026-01-01 10:{minute:02},{count}" for minute, count in counts.items()]
    log = written(tmp_path, "\n".join(["minute,requests", *lines]))
    slot = random.choice([7.5, 30, 45, 60, 100, 300])
    found = entries(log, slot)
    begin = min(counts)
    for minute, count in counts.items():
        here = Fraction(60 * (minute - begin)) / Fraction(str(slot))
        for t in range(floor(here), ceil(here + 60 / Fraction(str(slot)))):
            (rate,) = (rate for start, end, rate in found if start <= t < end)
            assert rate >= count / 60 - 1e-9
    most = max(counts.values()) / 60
    assert max(rate for *_, rate in found) == pytest.approx(most, abs=1e-4)


def test_every_wrong_row_is_named(tmp_path: Path) -> None:
    log = written(
        tmp_path,
        "minute,requests\nnoon,1\n2026-01-01 10:00:30,1\n2026-01-01 10:01,-1\n"
        "2026-01-01 10:02,3\n2026-01-01 10:02,3\n2026-01-01T10:03+00:00,3\n",
    )
    with pytest.raises(InputError) as caught:
        read_requests(log)
    lines = [line.partition(": ")[2] for line in caught.value.lines()]
    begin = "the begin of a minute, such as 2023-11-16 18:15, is expected"
    assert lines == [
        f"line 2: minute: 'noon'; {begin}",
        f"line 3: minute: '2026-01-01 10:00:30'; {begin}",
        "line 4: requests: '-1'; a whole number of at least 0 is expected",
        "line 6: minute: line 5 has this minute already",
        "minute: some times have a zone and others have none",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("time,requests\n", "no column 'minute'; 'minute' and 'requests' are expected"),
        ("minute,requests\n", "no row"),
        ("", "no column 'minute', 'requests'"),
    ],
)
def test_a_file_that_is_no_log_is_refused(text: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=line):
        read_requests(written(tmp_path, text))


def test_a_service_gets_the_demand_of_a_group(tmp_path: Path) -> None:
    log = written(
        tmp_path,
        "service,minute,requests\na,2026-01-01T10:00+00:00,60\nb,2026-01-01T10:01+00:00,120\n",
    )
    served = with_services(service("chat", demand(0, 1, 1.0)))
    served["time"] = {"slot_seconds": 60.0}
    found = rarmodel.import_requests(log, served, "chat", group="b")
    (chat,) = found.services
    # Slot 0 is the first minute of the log, whoever asks in it.
    assert [(one.start, one.end, one.requests_per_second) for one in chat.demand] == [(1, 2, 2.0)]
    assert found.time.origin is not None
    assert found.time.origin.isoformat() == "2026-01-01T10:00:00+00:00"
    for group, line in (
        (None, "the log has requests of 'a', 'b'; name the group"),
        ("c", "no group 'c'; the log has 'a', 'b'"),
    ):
        with pytest.raises(UsageError, match=line):
            rarmodel.import_requests(log, served, "chat", group=group)
    with pytest.raises(UsageError, match="no service 'mail'; the instance has 'chat'"):
        rarmodel.import_requests(log, served, "mail")
