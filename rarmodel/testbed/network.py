"""The network: namespaces as servers, a bridge for each switch, a limit at both ends of each link.

Linux carries real TCP over it. All names begin with `PREFIX`, and nothing else is touched.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rarmodel.defaults import TESTBED_BUFFER_MS, TESTBED_MBIT, TESTBED_SERVERS
from rarmodel.errors import UsageError
from rarmodel.schema import Link

PREFIX = "rarmodel-testbed-"
SWITCH = f"{PREFIX}switch"
MOST_SERVERS = 200
_BURST_BYTES = 16 * 1024
"""What a link passes at once; less than a millisecond at 150 Mbit/s."""


def check_possible() -> None:
    """Check that this process can make network namespaces.

    Raises
    ------
    UsageError
        If the system is not Linux, a program is missing, or the user is not root.
    """
    if sys.platform != "linux":
        raise UsageError("the testbed needs network namespaces, which only Linux has")
    if missing := [name for name in ("ip", "tc") if shutil.which(name) is None]:
        names = " and ".join(missing)
        raise UsageError(f"the testbed needs the command {names}; install iproute2")
    if os.geteuid() != 0:
        raise UsageError("the testbed needs root, to make network namespaces; use sudo")


def namespace(server: int) -> str:
    """The namespace of a server."""
    return f"{PREFIX}{server}"


def address(server: int) -> str:
    """The address of a server, in its namespace only."""
    return f"10.99.0.{server + 1}"


def star(servers: int, mbit: float) -> tuple[Link, ...]:
    """The links of servers around one switch."""
    return tuple(
        Link(node=f"s{server}", parent="switch", gbps=mbit / 1e3) for server in range(servers)
    )


def existing() -> list[str]:
    """Names of the testbed's namespaces that there are."""
    lines = _output("ip", "netns", "list").splitlines()
    return [name for name in (line.split()[0] for line in lines) if name.startswith(PREFIX)]


def up_star(
    servers: int = TESTBED_SERVERS,
    mbit: float = TESTBED_MBIT,
    buffer_ms: float = TESTBED_BUFFER_MS,
) -> None:
    """Make a network of servers around one switch; parameters and errors as in `up`."""
    links = star(servers, mbit)
    up([link.node for link in links], links, buffer_ms)


def servers_up() -> int:
    """Number of servers of the testbed that is up; 0 if none is."""
    return len([name for name in existing() if name != SWITCH])


def up(servers: Sequence[str], links: Sequence[Link], buffer_ms: float) -> None:
    """Make a network.

    Parameters
    ----------
    servers
        Names of the servers.
    links
        A link upward for each server and each switch but the root.
    buffer_ms
        Time in milliseconds that the longest queue of a link takes to drain.

    Raises
    ------
    UsageError
        If it is not possible, or there is such a network already.
    """
    check_possible()
    if not 2 <= len(servers) <= MOST_SERVERS:
        raise UsageError(f"{len(servers)} servers; a testbed has 2 to {MOST_SERVERS}")
    if existing():
        raise UsageError("a testbed is up already; `rarmodel testbed down` removes it")
    try:
        for command in commands(servers, links, buffer_ms):
            _output(*command.split())
    except BaseException:
        down()
        raise


def commands(servers: Sequence[str], links: Sequence[Link], buffer_ms: float) -> Iterator[str]:
    """The commands that make the namespaces, bridges and links."""
    bridges = {node: f"b{i}" for i, node in enumerate(dict.fromkeys(one.parent for one in links))}
    inside = f"ip -n {SWITCH}"
    yield f"ip netns add {SWITCH}"
    for bridge in bridges.values():
        yield f"{inside} link add {bridge} type bridge"
        yield f"{inside} link set {bridge} up"
    for i, link in enumerate(links):
        if link.node in bridges:
            below, device = SWITCH, f"u{i}"
            yield f"{inside} link add {device} type veth peer name d{i}"
            yield f"{inside} link set {device} master {bridges[link.node]}"
        else:
            server = servers.index(link.node)
            below, device = namespace(server), "eth0"
            yield f"ip netns add {below}"
            yield f"ip link add {device} netns {below} type veth peer name d{i} netns {SWITCH}"
            yield f"ip -n {below} addr add {address(server)}/24 dev {device}"
            yield f"ip -n {below} link set lo up"
        yield f"{inside} link set d{i} master {bridges[link.parent]}"
        for where, end in ((below, device), (SWITCH, f"d{i}")):
            yield f"ip -n {where} link set {end} up"
            yield f"tc -n {where} qdisc add dev {end} root tbf {_limit(link.gbps, buffer_ms)}"


def _limit(gbps: float, buffer_ms: float) -> str:
    """A token-bucket filter; its queue holds at least one burst."""
    queue = max(_BURST_BYTES, round(gbps * buffer_ms * 1e6 / 8))
    return f"rate {round(gbps * 1e9)}bit burst {_BURST_BYTES} limit {queue}"


def down() -> list[str]:
    """Remove the testbed's namespaces, and end the processes in them; their names."""
    names = existing()
    for name in names:
        for process in _output("ip", "netns", "pids", name).split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        _output("ip", "netns", "del", name)
    return names


@contextmanager
def lent(servers: int | None, mbit: float | None, buffer_ms: float | None) -> Iterator[int]:
    """The number of servers of the testbed that is up, or of one that is up meanwhile.

    Raises
    ------
    UsageError
        If one is up, and a value is given that could differ from its own.
    """
    check_possible()
    if there := servers_up():
        if (servers, mbit, buffer_ms) != (None, None, None):
            message = "a testbed is up, with its own servers and rate; leave the options out, or "
            raise UsageError(f"{message}remove it with `rarmodel testbed down`")
        yield there
        return
    links = star(servers or TESTBED_SERVERS, mbit or TESTBED_MBIT)
    with made([link.node for link in links], links, buffer_ms or TESTBED_BUFFER_MS):
        yield len(links)


@contextmanager
def made(servers: Sequence[str], links: Sequence[Link], buffer_ms: float) -> Iterator[None]:
    """A network for as long as it is needed; parameters and errors as in `up`."""
    up(servers, links, buffer_ms)
    try:
        yield
    finally:
        down()


def _output(*command: str) -> str:
    """What a command prints.

    Raises
    ------
    UsageError
        If it fails, with its message.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise UsageError(f"{' '.join(command)}: {done.stderr.strip() or 'failed'}")
    return done.stdout
