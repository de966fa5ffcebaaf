"""Browsers for the tests of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser import launcher


@pytest.fixture(scope="module")
def launch() -> Iterator[Callable[..., Any]]:
    """Give a headless Chromium that the tests of a file share."""
    with launcher() as launch:
        yield launch
