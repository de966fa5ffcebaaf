"""Names that load what they need when they are first used."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import rarmodel
from rarmodel import campaigns
from rarmodel.lazy import exports


@pytest.mark.parametrize("package", [rarmodel, campaigns])
def test_every_name_is_there_and_listed(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert set(names) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in names)


def test_a_module_is_loaded_when_its_name_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("")
    (tmp_path / "shop" / "shelf.py").write_text("BREAD = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    shop = importlib.import_module("shop")
    get, names = exports("shop", {"BREAD": "shelf"})
    assert "BREAD" in names()
    assert "shop.shelf" not in sys.modules
    assert get("BREAD") == 3
    with pytest.raises(AttributeError, match="module 'shop' has no attribute 'CAKE'"):
        get("CAKE")
    assert "__name__" in names()
    del sys.modules["shop"], sys.modules["shop.shelf"], shop
