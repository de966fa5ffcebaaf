"""Ctrl-C, whenever it comes, is one line and exit code 130."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from depth import first

from rarmodel.interrupts import by_interrupt, end_at_once, interrupt_early, interruptible

COMMANDS = ["--help", "instances", "solve two-servers --formulation time-indexed"]
# The program says when Ctrl-C is taken care of: nobody can mend the start of Python before that.
PROGRAM = """\
import os
import sys

import rarmodel.__main__ as program

early = program.interrupt_early


def told():
    early()
    assert not {"click", "rich_click", "numpy", "rarmodel.cli"} & sys.modules.keys()
    os.write(int(sys.argv.pop(1)), b"x")


program.interrupt_early = told
program.main()
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to another process")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("wait", first(4, [0.0, 0.1, 0.4, 1.5, 4.0]))
def test_a_signal_at_any_moment_gives_no_traceback(command: str, wait: float) -> None:
    ready, told = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(told), *command.split()],
        pass_fds=[told],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(told)
    try:
        assert os.read(ready, 1) == b"x"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(wait)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    finally:
        os.close(ready)
        process.kill()
        process.wait()
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    # A command may be through by then, or have an answer that it keeps.
    assert process.returncode in ({0, 130} if wait else {130})
    if process.returncode:
        assert err.splitlines()[-1] == "interrupted"


@pytest.fixture
def default_handler() -> Iterator[None]:
    """Python's own handler, whatever runs the tests has set."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Loud:
    """Is interrupted while it goes away, where Python prints and forgets exceptions."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


@pytest.mark.usefixtures("default_handler")
def test_an_interrupt_that_python_forgets_is_raised_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def forget() -> None:
        with interruptible():
            one = Loud()
            del one
            for _ in range(500):  # A signal that another thread raises ends no sleep.
                time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        forget()
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("default_handler")
def test_what_handled_ctrl_c_before_does_so_again() -> None:
    hook = sys.unraisablehook
    interrupt_early()
    assert signal.getsignal(signal.SIGINT) is end_at_once
    with interruptible():
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert sys.unraisablehook is not hook
    assert signal.getsignal(signal.SIGINT) is end_at_once
    assert sys.unraisablehook is hook


@pytest.mark.usefixtures("default_handler")
@pytest.mark.parametrize("own", [signal.SIG_IGN, lambda *_: None])
def test_a_handler_of_somebody_else_stays(own: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, own)
    interrupt_early()
    with interruptible():
        assert signal.getsignal(signal.SIGINT) is own


def test_an_exception_made_of_an_interrupt_is_one() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def imported() -> None:
        try:
            interrupted()
        except KeyboardInterrupt as error:
            raise ImportError("half of it") from error

    with pytest.raises(ImportError) as caught:
        imported()
    assert by_interrupt(caught.value)
    assert not by_interrupt(ImportError("none of it"))
