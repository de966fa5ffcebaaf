"""What holds for all tests."""

from __future__ import annotations

import gc
import signal
from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# On a busy machine it takes long to draw any input, or to try it; that says nothing of a test.
settings.register_profile(
    "shared", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("shared"), max_examples=1000)
settings.load_profile("shared")

# A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage in thousands of collected tests, and later seldom.

    Python otherwise looks for it a tenth of the time: models are many objects that come together.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(20_000, 10, 10)
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Beside the slowest tests, the slowest files: time also goes where many tests are short."""
    most = terminalreporter.config.getoption("durations")
    if not most:
        return
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for one in reports:
            if isinstance(one, pytest.TestReport):
                seconds[one.nodeid.partition("::")[0]] += one.duration
    terminalreporter.section(f"slowest {most} files")
    for name, taken in sorted(seconds.items(), key=lambda one: -one[1])[:most]:
        terminalreporter.write_line(f"{taken:.2f}s {name}")


@pytest.fixture
def idle_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `search` find nothing, so that exact solves have something left to find."""
    from rarmodel.search import Session
    from rarmodel.search.ties import Ties

    monkeypatch.setattr(Session, "run", lambda *_, **__: "idle")
    monkeypatch.setattr(Session, "close_gap", lambda *_: "idle")
    monkeypatch.setattr(Ties, "run", lambda *_, **__: None)


@pytest.fixture
def runs_here() -> Iterator[None]:
    """Do runs of campaigns in this process; drivers started as processes are as ever."""
    from runs_here import runs_in_this_process

    with runs_in_this_process():
        yield
