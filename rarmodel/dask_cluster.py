"""The connection to a Dask cluster that is already there; campaigns and `search` use it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any

from .errors import UsageError, listed

CONNECT_SECONDS = 10
VERSION = version("rarmodel")


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of a Dask scheduler, closed on exit.

    Parameters
    ----------
    scheduler
        Address of the scheduler, such as `tcp://host:8786`.

    Raises
    ------
    UsageError
        If Dask is not installed, there is no scheduler at that address, or its workers have
        another version of rarmodel.
    """
    try:
        from distributed import Client  # noqa: PLC0415 - optional
    except ImportError as error:
        message = "Dask is not installed; `pip install 'rarmodel[dask]'` installs it"
        raise UsageError(message) from error
    try:
        asyncio.run(_reach(scheduler))
    except Exception as error:  # What is no scheduler can answer anything.
        reason = str(error) or type(error).__name__
        raise UsageError(f"no Dask scheduler at {scheduler!r}: {reason}") from error
    client: Any = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    try:
        _check_versions(client.get_versions(packages=["rarmodel"])["workers"])
        yield client
    finally:
        _close(client)


def _close(client: Any) -> None:
    """Close a client, also one that has lost its scheduler.

    A client that is just trying to connect again can fail to close. The work is then known to be
    lost, and a second attempt has no connection left to give up.
    """
    try:
        client.close()
    except (OSError, RuntimeError):
        with suppress(OSError, RuntimeError):
            client.close()


async def _reach(scheduler: str) -> None:
    """Connect briefly to test the address: a client takes a minute to fail."""
    from distributed.comm import connect  # noqa: PLC0415 - optional
    from distributed.security import Security  # noqa: PLC0415

    keys = Security().get_connection_args("client")  # from Dask's configuration, as a client's
    attempt = connect(scheduler, timeout=CONNECT_SECONDS, **keys)
    comm = await asyncio.wait_for(attempt, 2 * CONNECT_SECONDS)
    await comm.close()


def _check_versions(workers: Mapping[str, Any]) -> None:
    """Refuse workers on which every run would fail. Workers that join later are not checked.

    Raises
    ------
    UsageError
        If some workers have another version of rarmodel, or none.
    """
    found = {address: said["packages"]["rarmodel"] for address, said in workers.items()}
    if other := sorted(address for address, its in found.items() if its != VERSION):
        theirs = ", ".join(sorted({found[address] or "none" for address in other}))
        raise UsageError(
            f"rarmodel {VERSION} is needed on every Dask worker, and not {theirs} as on "
            f"{listed(other)}"
        )
