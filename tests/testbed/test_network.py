"""The testbed's network: refusals, and the commands that make it. No root needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from rarmodel.errors import UsageError
from rarmodel.schema import Link
from rarmodel.testbed import network


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As on Linux, with both programs, as root; no command is run."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "which", lambda name: f"/sbin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return monkeypatch


class Commands:
    """Stands for the programs: keeps what they are asked, and fails where told."""

    def __init__(self, namespaces: str = "", failing: str = "nothing") -> None:
        self.asked: list[str] = []
        self.namespaces, self.failing = namespaces, failing

    def __call__(self, command: tuple[str, ...], **_: Any) -> subprocess.CompletedProcess[str]:
        line = " ".join(command)
        self.asked.append(line)
        if self.failing in line:
            return subprocess.CompletedProcess(command, 1, "", "not permitted\n")
        out = self.namespaces if line == "ip netns list" else ""
        if line.startswith("ip netns add "):
            self.namespaces += f"{line.split()[-1]}\n"
        return subprocess.CompletedProcess(command, 0, out, "")


def test_other_systems_are_refused(able: pytest.MonkeyPatch) -> None:
    able.setattr(sys, "platform", "darwin")
    with pytest.raises(UsageError, match="network namespaces, which only Linux has"):
        network.check_possible()


@pytest.mark.parametrize("missing", ["ip", "tc"])
def test_missing_programs_are_refused(able: pytest.MonkeyPatch, missing: str) -> None:
    able.setattr(shutil, "which", lambda name: None if name == missing else name)
    with pytest.raises(UsageError, match=f"needs the command {missing}; install iproute2"):
        network.check_possible()


def test_users_without_root_are_refused(able: pytest.MonkeyPatch) -> None:
    able.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="needs root, to make network namespaces; use sudo"):
        network.check_possible()


@pytest.mark.parametrize("servers", [1, 201])
def test_networks_too_small_or_too_large_are_refused(
    able: pytest.MonkeyPatch, servers: int
) -> None:
    able.setattr(subprocess, "run", Commands())
    with pytest.raises(UsageError, match=f"{servers} servers; a testbed has 2 to 200"):
        network.up_star(servers, 100.0, 20.0)


def test_a_second_network_is_refused_and_the_first_stays(able: pytest.MonkeyPatch) -> None:
    commands = Commands("other\nrarmodel-testbed-0 (id: 3)\n")
    able.setattr(subprocess, "run", commands)
    with pytest.raises(UsageError, match="a testbed is up already; `rarmodel testbed down`"):
        network.up_star(2, 100.0, 20.0)
    assert commands.asked == ["ip netns list"]


def test_a_network_that_cannot_be_finished_is_removed(able: pytest.MonkeyPatch) -> None:
    commands = Commands(failing="qdisc")
    able.setattr(subprocess, "run", commands)
    with pytest.raises(UsageError, match=r"tc -n rarmodel-testbed-0 .*: not permitted"):
        network.up_star(3, 100.0, 20.0)
    assert commands.asked[-4:] == [
        "ip netns pids rarmodel-testbed-switch",
        "ip netns del rarmodel-testbed-switch",
        "ip netns pids rarmodel-testbed-0",
        "ip netns del rarmodel-testbed-0",
    ]


def test_only_own_namespaces_are_removed(able: pytest.MonkeyPatch) -> None:
    commands = Commands("other\nrarmodel-testbed-1 (id: 3)\nmy-rarmodel-testbed-1\n")
    able.setattr(subprocess, "run", commands)
    assert network.down() == ["rarmodel-testbed-1"]
    assert [line for line in commands.asked if " del " in line] == [
        "ip netns del rarmodel-testbed-1"
    ]


def test_every_command_names_an_own_namespace() -> None:
    links = network.star(3, 100.0)
    for line in network.commands([one.node for one in links], links, 20.0):
        named = [word for word in line.split() if word.startswith(network.PREFIX)]
        assert named, line
        assert line.startswith(("ip -n ", "tc -n ", "ip netns add ", "ip link add eth0 netns "))


def test_links_have_their_rate_and_queue_at_both_ends() -> None:
    links = [Link(node="a", parent="switch", gbps=0.1), Link(node="b", parent="switch", gbps=0.05)]
    limits = [
        line.split(" qdisc ")
        for line in network.commands(["a", "b"], links, 20.0)
        if line.startswith("tc")
    ]
    slow, fast = "rate 50000000bit burst 16384", "rate 100000000bit burst 16384"
    assert limits == [
        ["tc -n rarmodel-testbed-0", f"add dev eth0 root tbf {fast} limit 250000"],
        ["tc -n rarmodel-testbed-switch", f"add dev d0 root tbf {fast} limit 250000"],
        ["tc -n rarmodel-testbed-1", f"add dev eth0 root tbf {slow} limit 125000"],
        ["tc -n rarmodel-testbed-switch", f"add dev d1 root tbf {slow} limit 125000"],
    ]


def test_switches_of_a_tree_are_bridges_with_links_between_them() -> None:
    links = [
        Link(node="a", parent="rack", gbps=0.1),
        Link(node="b", parent="core", gbps=0.1),
        Link(node="rack", parent="core", gbps=0.2),
    ]
    lines = list(network.commands(["a", "b"], links, 20.0))
    inside = "ip -n rarmodel-testbed-switch link"
    for line in (
        "add b0 type bridge",
        "add b1 type bridge",
        "set d0 master b0",
        "set d1 master b1",
    ):
        assert f"{inside} {line}" in lines
    at = lines.index(f"{inside} add u2 type veth peer name d2")
    assert lines[at + 1 : at + 3] == [f"{inside} set u2 master b0", f"{inside} set d2 master b1"]
