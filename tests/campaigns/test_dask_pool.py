"""Campaigns on a Dask cluster: workers, schedulers and Dask itself that are gone, or never were."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from campaign_files import TURNS, Row, lasting, recorded, rows, write_campaign
from runs_here import runs_in_this_process

from rarmodel.campaigns import Standing, run_campaigns
from rarmodel.campaigns.run_pools import PoolLostError
from rarmodel.campaigns.run_process import outcome_of
from rarmodel.dask_cluster import connected
from rarmodel.errors import UsageError


def started(*, processes: bool) -> Any:
    """A local Dask cluster of two workers of one thread each."""
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=processes,
        protocol="tcp",
        dashboard_address=None,
        silence_logs=50,
    )


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster whose workers are threads of this process, and do runs in it."""
    monkeypatch.setattr("rarmodel.campaigns.run_pools.run_on_worker", outcome_of)
    with started(processes=False) as running, runs_in_this_process():
        yield running


@pytest.fixture
def cluster_of_processes() -> Iterator[Any]:
    """A cluster whose workers are processes, so that each can be killed or be another version."""
    with started(processes=True) as running:
        yield running


@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_dask_worker_loses_nothing(
    folder: Path, uninterrupted: list[Row], cluster_of_processes: Any
) -> None:
    cluster = cluster_of_processes
    victim = cluster.workers[0].pid
    told: list[int] = []

    def kill(far: Standing) -> None:
        told.append(far.done)
        if far.done == 2:
            os.kill(victim, signal.SIGKILL)

    found = run_campaigns("campaign.yaml", "dask", scheduler=cluster.scheduler_address, tell=kill)
    assert (found.done, found.failed, found.open) == (8, 0, 0)
    assert told == [1, 2, 3, 4, 5, 6, 7, 8]
    assert lasting(folder / "dask") == uninterrupted


@pytest.mark.filterwarnings("default")
def test_ctrl_c_withdraws_what_no_dask_worker_has_begun(
    folder: Path, uninterrupted: list[Row], cluster: Any
) -> None:
    def interrupt(far: Standing) -> None:
        if far.done == 2:
            raise KeyboardInterrupt

    address = cluster.scheduler_address
    found = run_campaigns("campaign.yaml", "stopped", scheduler=address, tell=interrupt)
    assert found.interrupted
    assert 2 <= found.done < 8
    assert len(rows(folder / "stopped")) == found.done
    assert run_campaigns("campaign.yaml", "stopped", scheduler=address).done == 8
    assert lasting(folder / "stopped") == uninterrupted


@pytest.mark.filterwarnings("default")
def test_a_scheduler_that_goes_away_keeps_what_is_finished(
    folder: Path, uninterrupted: list[Row], cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask

    monkeypatch.setattr("rarmodel.dask_cluster.CONNECT_SECONDS", 2)

    def leave(far: Standing) -> None:
        if far.done == 2:
            cluster.close()

    soon = dask.config.set({"distributed.comm.timeouts.connect": "2s"})
    with soon, pytest.raises(PoolLostError, match="what is finished is kept"):
        run_campaigns("campaign.yaml", "lost", scheduler=cluster.scheduler_address, tell=leave)
    before = recorded(folder / "lost")
    assert 2 <= len(before) < 8
    assert run_campaigns("campaign.yaml", "lost", workers=2).done == 8
    assert {run: recorded(folder / "lost")[run] for run in before} == before
    assert lasting(folder / "lost") == uninterrupted


@pytest.mark.filterwarnings("default")
def test_a_client_that_fails_to_close_at_first_is_closed(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    whole = distributed.Client.close

    def close(client: Any) -> None:
        monkeypatch.setattr(distributed.Client, "close", whole)
        raise RuntimeError("Cannot change state of expiring Timeout")

    monkeypatch.setattr(distributed.Client, "close", close)
    with connected(cluster.scheduler_address) as client:
        assert client.status == "running"
    assert client.status == "closed"


def test_a_scheduler_that_is_not_there_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("rarmodel.dask_cluster.CONNECT_SECONDS", 1)
    path = write_campaign(folder, TURNS)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(UsageError, match="no Dask scheduler at"):
            run_campaigns(path, folder / "out", scheduler=address)
    with pytest.raises(UsageError, match="workers of its own"):
        run_campaigns(path, folder / "out", scheduler="tcp://127.0.0.1:9", workers=2)


def test_what_is_no_scheduler_is_refused_whatever_it_answers(folder: Path) -> None:
    pytest.importorskip("distributed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            taken, _ = server.accept()
            taken.sendall(b"220 mail.example.org ESMTP, no scheduler\r\n" * 4)
            taken.recv(1)
            taken.close()

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(UsageError, match="no Dask scheduler at"):
            run_campaigns(
                write_campaign(folder, TURNS), folder / "out", scheduler=f"tcp://127.0.0.1:{port}"
            )


@pytest.fixture
def older_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes started from now on find another version of rarmodel installed."""
    about = tmp_path / "older" / "rarmodel-0.0.1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rarmodel\nVersion: 0.0.1\n")
    monkeypatch.syspath_prepend(about.parent)  # Dask hands the path down.


@pytest.mark.filterwarnings("default")
def test_workers_of_another_version_are_refused(
    folder: Path, older_workers: None, cluster_of_processes: Any
) -> None:
    path = write_campaign(folder, TURNS)
    address = cluster_of_processes.scheduler_address
    with pytest.raises(UsageError, match=r"is needed on every Dask worker, and not 0.0.1 as on"):
        run_campaigns(path, folder / "out", scheduler=address)


def test_dask_that_is_not_installed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="pip install 'rarmodel\\[dask\\]'"):
        run_campaigns(write_campaign(folder, TURNS), folder / "out", scheduler="tcp://x:1")
