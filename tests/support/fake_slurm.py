"""A real Slurm cluster with faked GPUs on this machine: slurmctld, and a slurmd for each node.

Nothing needs root, systemd or cgroups. GPUs are links to /dev/null, as Slurm wants character
devices. The daemons are children of the tests, and end with them.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rarmodel.slurm.program_outputs import ENVIRONMENT, SlurmError

SCHEDULER = "sched_interval=1,sched_min_interval=0,bf_interval=1,bf_resolution=1"
"""By default Slurm looks at the queue twice a minute; tests do not have that time."""
ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStorageTRES=gres/gpu,gres/gpu:h100
AccountingStorageEnforce=associations,limits,qos"""
PATH = os.pathsep.join(["/usr/local/sbin", "/usr/sbin", "/sbin", os.environ.get("PATH", "")])

SHAPES = (
    ["--gpus=8", "--ntasks=8"],
    ["-N2", "--gres=gpu:4"],
    ["-N1", "--gres=gpu:h100:2"],
    ["--nodes=2-4", "--gpus-per-node=2"],
    ["--gpus-per-task=1", "--ntasks=4"],
    ["--gpus=16", "--ntasks=16"],
    ["--gpus=32", "--ntasks=32"],
)
"""Requests of jobs in the ways that Slurm offers."""


def missing(*, accounting: bool = False) -> str:
    """Which of Slurm's programs is not installed; empty if all are."""
    programs = ["slurmctld", "slurmd", "scontrol", "sbatch", "scancel", "squeue"]
    programs += ["slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db"] if accounting else []
    lacking = [one for one in programs if shutil.which(one, path=PATH) is None]
    if lacking:
        return f"Slurm is not installed: no {', '.join(lacking)}"
    return "" if _user() else "the user who runs the tests has no name, which Slurm needs"


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


class FakeSlurm:
    """A cluster of nodes `node1` … with equal GPUs, by default four nodes below a switch.

    With accounting there are a database and slurmdbd, too, and Slurm enforces limits.
    """

    def __init__(
        self,
        nodes: int = 8,
        gpus: int = 8,
        cpus: int = 64,
        extra: str = "",
        switches: Sequence[str] | None = None,
        *,
        shards: int = 0,
        accounting: bool = False,
    ) -> None:
        # Names of sockets below it must be short, so it is not pytest's folder.
        self.folder = Path(tempfile.mkdtemp(prefix="fs", dir="/tmp"))
        self.nodes, self.gpus, self.cpus, self.extra = nodes, gpus, cpus, extra
        self.switches, self.accounting, self.shards = switches, accounting, shards
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": PATH,
            **ENVIRONMENT,
        }

    def run(self, command: Sequence[str], user: int | None = None) -> str:
        """Run a program of this cluster's, as another user if root does; its output."""
        done = subprocess.run(
            [*command],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd="/",
            user=user,
        )
        if done.returncode:
            raise SlurmError(f"{' '.join(command)}: {done.stderr or done.stdout}")
        return done.stdout

    def submit(
        self, *options: str, seconds: float = 60, held: bool = True, user: int | None = None
    ) -> str:
        """Submit a job that sleeps; its id."""
        hold = ["--hold"] if held else []
        words = ["sbatch", "--parsable", "--output=/dev/null", *hold, *options]
        return self.run([*words, f"--wrap=exec sleep {seconds:g}"], user).strip()

    def wait(self, happened: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait until something has happened."""
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: not within {seconds:g} s")
            time.sleep(0.1)

    def __enter__(self) -> FakeSlurm:
        try:
            return self._up()
        except BaseException:
            self.__exit__()
            raise

    def _up(self) -> FakeSlurm:
        self._configure()
        if self.accounting:
            self._account()
        self._start("slurmctld", "-D", "-f", self.environment["SLURM_CONF"])
        self.wait(lambda: self._answers("scontrol", "ping"), 30, "slurmctld")
        for i in range(1, self.nodes + 1):
            self._start("slurmd", "-D", "-f", self.environment["SLURM_CONF"], "-N", f"node{i}")
        self.wait(self._idle, 60, "idle nodes")
        return self

    def __exit__(self, *_: object) -> None:
        for state in ("PENDING", "RUNNING"):
            self._answers("scancel", f"--state={state}")
        with contextlib.suppress(RuntimeError, SlurmError):
            self.wait(lambda: not self.run(["squeue", "-h"]), 5, "end of jobs")
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for step in self._steps():
            with contextlib.suppress(ProcessLookupError):
                os.kill(step, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self, *command: str) -> bool:
        try:
            self.run(command)
        except SlurmError:
            return False
        return True

    def _idle(self) -> bool:
        states = self.run(["sinfo", "-h", "-N", "-o", "%t"]).split()
        return len(states) >= self.nodes and set(states) == {"idle"}

    def _start(self, *command: str) -> None:
        with (self.folder / "log" / f"{command[0]}.stderr").open("ab") as log:
            daemon = subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
            )
        self.daemons.append(daemon)

    def _steps(self) -> Iterator[int]:
        """Steps of jobs that outlive their cluster: its configuration is in their environment."""
        mine = f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "comm").read_text().startswith("slurmstepd") and mine in (
                    process / "environ"
                ).read_bytes().split(b"\0"):
                    yield int(process.name)

    def _configure_accounting(self, port: int, user: str) -> None:
        path = self.folder / "slurmdbd.conf"
        path.touch(mode=0o600)  # It has a password, so slurmdbd wants it so.
        path.write_text(
            f"""\
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
AuthType=auth/none
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={self.database_port}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
LogFile={self.folder}/log/slurmdbd.log
PidFile={self.folder}/run/slurmdbd.pid
"""
        )

    def _account(self) -> None:
        """Start a database and slurmdbd."""
        folder, where = self.folder, f"--datadir={self.folder}/db"
        small = "--innodb-log-file-size=8M"
        known = ["--no-defaults", where, f"--user={_user()}", "--skip-name-resolve", small]
        self.run(
            [
                *("mariadb-install-db", *known),
                *("--auth-root-authentication-method=normal", "--skip-test-db"),
            ]
        )
        (folder / "run" / "init.sql").write_text(
            "CREATE USER IF NOT EXISTS slurm@'127.0.0.1' IDENTIFIED BY 'slurm';\n"
            "GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';\n"
        )
        self._start(
            *("mariadbd", *known, f"--socket={folder}/run/db.sock"),
            *(f"--port={self.database_port}", "--bind-address=127.0.0.1"),
            *(f"--pid-file={folder}/run/db.pid", f"--init-file={folder}/run/init.sql"),
            *("--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900"),
        )
        self.wait(lambda: not _is_free(self.database_port), 60, "mariadbd")
        self._start("slurmdbd", "-D")
        self.wait(lambda: not _is_free(self.database_port - 1), 60, "slurmdbd")

    def _configure(self) -> None:
        folder, port, user = self.folder, _free_ports(self.nodes + 3), _user()
        self.database_port = port + self.nodes + 2
        storage = "AccountingStorageType=accounting_storage/none"
        if self.accounting:
            storage = ACCOUNTING.format(port=port + self.nodes + 1)
            self._configure_accounting(port + self.nodes + 1, user)
        folder.chmod(0o755)
        for name in ("state", "spool", "log", "run", "dev"):
            (folder / name).mkdir()
        for i in range(self.gpus):
            (folder / "dev" / f"nvidia{i}").symlink_to("/dev/null")
        last, shards = self.nodes, f",shard:h100:{self.shards}" if self.shards else ""
        (folder / "slurm.conf").write_text(
            f"""\
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
{storage}
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
TopologyPlugin=topology/tree
PriorityType=priority/basic
SchedulerType=sched/backfill
SchedulerParameters={SCHEDULER}
MaxJobCount=20000
KillWait=1
JobRequeue=0
GresTypes=gpu{",shard" if shards else ""}
NodeName=node[1-{last}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{port + 1}-{port + last}] \\
CPUs={self.cpus} RealMemory=100000 Gres=gpu:h100:{self.gpus}{shards} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
{self.extra}
"""
        )
        devices = f"{folder}/dev/nvidia[0-{self.gpus - 1}]"
        shared = f"Name=shard Count={self.shards}\n" if self.shards else ""
        (folder / "gres.conf").write_text(f"Name=gpu Type=h100 File={devices}\n{shared}")
        leaves = [(a, min(a + 3, last)) for a in range(1, last + 1, 4)]
        switches = [f"SwitchName=leaf{k} Nodes=node[{a}-{b}]" for k, (a, b) in enumerate(leaves, 1)]
        switches.append(f"SwitchName=spine Switches=leaf[1-{len(leaves)}]")
        (folder / "topology.conf").write_text("\n".join(self.switches or switches) + "\n")


def _free_ports(count: int) -> int:
    """The first of so many free ports in a row, below those that the system gives out."""
    start: int = 10000 + os.getpid() * 37 % 15000
    bases = [*range(start, 30000 - count, count), *range(10000, start, count)]
    for base in bases:
        if all(map(_is_free, range(base, base + count))):
            return int(base)
    raise RuntimeError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
