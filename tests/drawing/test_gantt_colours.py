"""Colours of jobs by size, and by tenant."""

from __future__ import annotations

import pytest
from documents import instance_data, schedule_data

import rarmodel
from rarmodel.drawing.colours import MOST_TENANTS, NO_TENANT, TENANTS, colouring_by_tenant

DATA = instance_data()


def owned(*tenants: str | None) -> rarmodel.Instance:
    """An instance with a job for each tenant."""
    job = DATA["jobs"][0]
    jobs = [
        {**job, "name": f"{i}", **({} if one is None else {"tenant": one})}
        for i, one in enumerate(tenants)
    ]
    known = [{"name": one} for one in sorted({*tenants} - {None})]  # type: ignore[type-var]
    return rarmodel.Instance.model_validate({**DATA, "jobs": jobs, "tenants": known})


def test_each_tenant_has_a_colour_and_neighbours_have_shades() -> None:
    found = colouring_by_tenant(owned("bob", "alice", None, "bob", "bob"))
    assert [(one.name, one.colour) for one in found.classes] == [
        ("alice", TENANTS[0]),
        ("bob", TENANTS[1]),
    ]
    assert [found.class_of(job, 1) for job in range(6)] == [1, 0, None, 1, 1, None]
    assert found.shades == (0, 0, 0, 1, 2)
    assert found.unknown == NO_TENANT


def test_many_tenants_with_few_jobs_share_a_colour() -> None:
    names = [f"t{i:02}" for i in range(MOST_TENANTS + 2)]
    found = colouring_by_tenant(owned(*names, "t10"))
    assert len(found.classes) == MOST_TENANTS
    assert found.classes[-1].name == "3 other tenants"
    assert found.class_of(len(names), 1) == [one.name for one in found.classes].index("t10")


@pytest.fixture
def two_users() -> rarmodel.Instance:
    data = instance_data()
    for job, tenant in zip(data["jobs"], ("alice", "bob"), strict=True):
        job["tenant"] = tenant
    data["tenants"] = [{"name": "alice"}, {"name": "bob"}]
    data["time"]["origin"] = "2026-11-28T08:30:00"
    return rarmodel.Instance.model_validate(data)


def test_a_chart_by_tenant_names_them_in_its_legend(two_users: rarmodel.Instance) -> None:
    by_size, by_tenant = (
        rarmodel.plot(two_users, schedule_data(), parts=["gantt"], colour=colour).to_json()
        for colour in ("size", "tenant")
    )
    assert '"alice",' in by_tenant.replace(" ", "").replace("\n", "")
    assert TENANTS[0] in by_tenant
    assert "tenant" in by_size  # Beside the pointer.


def test_the_table_of_jobs_has_tenants_and_clock_times(two_users: rarmodel.Instance) -> None:
    page = rarmodel.report(two_users, schedule_data())
    assert '<th class="text" scope="col">tenant</th>' in page
    assert '<td class="text">alice</td>' in page
    assert "<small>28 Nov 08:30</small>" in page


def test_the_table_of_jobs_says_below_whom_tenants_are_and_how_urgent_jobs_are(
    two_users: rarmodel.Instance,
) -> None:
    assert ">priority</th>" not in rarmodel.report(two_users, schedule_data())
    data = two_users.model_dump(mode="json", exclude_unset=True)
    data["tenants"] = [{"name": "lab"}, {"name": "alice", "parent": "lab"}, {"name": "bob"}]
    data["jobs"][1]["priority"] = -7
    page = rarmodel.report(data, schedule_data())
    assert '<td class="text">lab / alice</td>' in page
    assert '<th scope="col">priority</th>' in page
    assert "<td>-7</td>" in page


@pytest.mark.parametrize(
    ("colour", "told"),
    [("colour", "no colour 'colour'; choose from size, tenant"), ("tenant", "has a tenant")],
)
def test_a_colour_that_says_nothing_is_refused(colour: str, told: str) -> None:
    with pytest.raises(rarmodel.UsageError, match=told):
        rarmodel.plot(instance_data(), schedule_data(), colour=colour)
