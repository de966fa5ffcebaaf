"""One worker of a ring, as a program of its own: `python ring_worker.py TASK`, TASK in JSON.

It needs the standard library only, so that it starts quickly in a network namespace. The workers of
a ring sum vectors of 32-bit numbers by a ring all-reduce over TCP: each passes pieces to the next,
first to sum them, then to spread the sums. Between two all-reduces a worker sleeps, in the place of
a GPU that computes.

The first worker prints `ready` after an all-reduce that is not measured, waits for a line of two
times `BEGIN UNTIL` on its standard input, and prints its iterations as `[begin, exchange, end]`
when the ring has stopped. All times are those of the machine's monotonic clock.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import sys
import time

CONNECTING_SECONDS = 30.0
_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""


class Ring:
    """The two neighbours of a worker, and its vector."""

    def __init__(
        self, rank: int, addresses: list[tuple[str, int]], piece: int, control: str
    ) -> None:
        self.rank, self.workers, self.piece = rank, len(addresses), piece
        own = (b"\x01\x00\x00\x00\x07\x00\x00\x00" * (piece // 8 + 1))[:piece]
        self.own = (int.from_bytes(own, "little") * (rank + 1)).to_bytes(piece, "little")
        ranks = self.workers * (self.workers + 1) // 2
        self.sum = (int.from_bytes(own, "little") * ranks).to_bytes(piece, "little")
        if self.workers > 1:
            self._connect(addresses, control)

    def _connect(self, addresses: list[tuple[str, int]], control: str) -> None:
        listener = socket.create_server(addresses[self.rank])
        until = time.monotonic() + CONNECTING_SECONDS
        while True:
            try:
                self.next = socket.create_connection(addresses[(self.rank + 1) % self.workers])
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
        listener.settimeout(CONNECTING_SECONDS)
        self.previous, _ = listener.accept()
        listener.close()
        self.next.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        self.next.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.next.settimeout(0)
        self.previous.settimeout(0)

    def all_reduce(self, *, stop: bool = False) -> bool:
        """Sum the vectors of all workers; whether the first worker has said to stop.

        Raises
        ------
        ArithmeticError
            If the sums are wrong.
        """
        w = self.workers
        pieces = [self.own] * w
        for step in range(2 * (w - 1)):
            out, into = (self.rank - step) % w, (self.rank - step - 1) % w
            flag, got = self._pass_on(stop, pieces[out])
            stop = stop or flag
            if step < w - 1:
                total = int.from_bytes(pieces[into], "little") + int.from_bytes(got, "little")
                pieces[into] = total.to_bytes(self.piece, "little")
            else:
                pieces[into] = bytes(got)
        if w > 1 and any(piece != self.sum for piece in pieces):
            raise ArithmeticError("wrong sums")
        return stop

    def _pass_on(self, stop: bool, piece: bytes) -> tuple[bool, memoryview]:  # noqa: FBT001
        """Send a piece to the next worker while one comes from the worker before."""
        out = memoryview(bytes([stop]) + piece)
        into = memoryview(bytearray(len(out)))
        sent = received = 0
        while sent < len(out) or received < len(into):
            reading = [self.previous] if received < len(into) else []
            writing = [self.next] if sent < len(out) else []
            readable, writable, _ = select.select(reading, writing, [])
            if readable:
                count = self.previous.recv_into(into[received:])
                if count == 0:
                    raise ConnectionError("the worker before has gone")
                received += count
            if writable:
                sent += self.next.send(out[sent:])
        return into[0] == 1, into[1:]


def main() -> None:
    """Do the task in the arguments."""
    task = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends us.
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != task["parent"]:
        return  # It died before we asked to die with it.
    rank, count = task["rank"], task["iterations"]
    addresses = [(address, port) for address, port in task["addresses"]]
    ring = Ring(rank, addresses, task["piece"], task["congestion_control"])
    ring.all_reduce()
    begin, until = 0.0, float("inf")
    if rank == 0:
        print("ready", flush=True)
        begin, until = map(float, sys.stdin.readline().split())
        time.sleep(max(0.0, begin - time.monotonic()))
    done: list[tuple[float, float, float]] = []
    stop = False
    while not stop:
        start = time.monotonic()
        time.sleep(task["compute_seconds"])
        exchange = time.monotonic()
        last = len(done) + 1 == count if count else rank == 0 and exchange >= until
        stop = ring.all_reduce(stop=last)
        done.append((start, exchange, time.monotonic()))
    if rank == 0:
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
