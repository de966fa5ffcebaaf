"""What holds for all tests."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# On a busy machine it takes long to draw any input; that says nothing of a test.
settings.register_profile("shared", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

# A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def idle_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `search` find nothing, so that exact solves have something left to find."""
    from rarmodel.search import Session
    from rarmodel.search.ties import Ties

    monkeypatch.setattr(Session, "run", lambda *_, **__: "idle")
    monkeypatch.setattr(Session, "close_gap", lambda *_: "idle")
    monkeypatch.setattr(Ties, "run", lambda *_, **__: None)
