"""Network pressures and sensitivities in files: what is refused, and what stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from documents import instance_data, job_data

from rarmodel.errors import InputError
from rarmodel.files import parse_instance, to_json
from rarmodel.model import instance_digest


def data(*jobs: dict[str, Any], model: str | None = "duty") -> dict[str, Any]:
    found = instance_data(*({**job_data(f"j{i}", 2), **job} for i, job in enumerate(jobs)))
    if model is not None:
        found["contention"]["model"] = model
    return found


def refused(*jobs: dict[str, Any], model: str | None = "duty") -> list[str]:
    with pytest.raises(InputError) as error:
        parse_instance(data(*jobs, model=model))
    return str(error.value).splitlines()


def test_numbers_are_kept_as_written() -> None:
    instance = parse_instance(data({"network_pressure": 0.4, "network_sensitivity": 0}, {}))
    assert instance.jobs[0].network_pressure == 0.4
    assert instance.jobs[0].network_sensitivity == 0.0
    assert instance.jobs[1].network_pressure is None
    assert parse_instance(to_json(instance)) == instance
    assert '"network_pressure": 0.4' in to_json(instance)
    assert to_json(instance).count("network_") == 2


@pytest.mark.parametrize("model", ["count", None])
def test_by_the_count_each_is_one_line(model: str | None) -> None:
    both = {"network_pressure": 0.25, "network_sensitivity": 1}
    why = "it needs contention.model \"duty\", and the model is 'count'"
    assert refused({}, both, model=model) == [
        f"jobs[1].network_pressure: 0.25; {why}",
        f"jobs[1].network_sensitivity: 1; {why}",
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-0.1, "-0.1; it must be at least 0"),
        (1000.5, "1000.5; it must be at most 1000"),
        (0.1234567891, "0.1234567891; at most 9 decimals are expected"),
        (1e-10, "1e-10; at most 9 decimals are expected"),
        ("1", "'1'; a number is expected"),
        (True, "true; a number is expected"),
    ],
)
@pytest.mark.parametrize("field", ["network_pressure", "network_sensitivity"])
def test_other_numbers_are_refused_in_a_line(field: str, value: Any, message: str) -> None:
    assert refused({field: value}) == [f"jobs[0].{field}: {message}"]


@pytest.mark.parametrize("value", [1e-9, 0.123456789, 999.999999999, 1000])
def test_nine_decimals_are_enough(value: float) -> None:
    assert parse_instance(data({"network_pressure": value})).jobs[0].network_pressure == value


def test_sums_that_are_no_longer_exact_are_refused() -> None:
    many = [{"network_pressure": 1000, "network_sensitivity": 999}] + [
        {"network_pressure": 1000} for _ in range(2_200)
    ]
    (line,) = refused(*many)
    assert line == (
        "jobs[0].network_pressure: 1000; the sum of all pressures times the greatest sensitivity, "
        "2.199e+09, must be below 2^31"
    )
    parse_instance(data(*many[:2_000]))


def test_faults_of_other_jobs_do_not_hide_them() -> None:
    lines = refused({"iterations": 0}, {"network_pressure": 1}, model="count")
    assert [line.split(":")[0] for line in lines] == [
        "jobs[0].iterations",
        "jobs[1].network_pressure",
    ]


def test_a_file_without_them_keeps_its_digest() -> None:
    plain = parse_instance(data({}, {}))
    null = parse_instance(data({"network_pressure": None, "network_sensitivity": None}, {}))
    assert instance_digest(plain) == instance_digest(null)
    assert instance_digest(plain) != instance_digest(
        parse_instance(data({"network_pressure": 1}, {}))
    )
