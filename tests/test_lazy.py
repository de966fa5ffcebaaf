"""Names that load what they need when they are first used."""

from __future__ import annotations

import importlib
import subprocess
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


SHOP = """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .shelf import BREAD as BREAD
"""


def test_a_module_is_loaded_when_its_name_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text(SHOP)
    (tmp_path / "shop" / "shelf.py").write_text("BREAD = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    shop = importlib.import_module("shop")
    get, names, public = exports("shop")
    assert public == ["BREAD"]
    assert "BREAD" in names()
    assert "shop.shelf" not in sys.modules
    assert get("BREAD") == 3
    with pytest.raises(AttributeError, match="module 'shop' has no attribute 'CAKE'"):
        get("CAKE")
    assert "__name__" in names()
    del sys.modules["shop"], sys.modules["shop.shelf"], shop


UNUSED = ("networkx", "ortools", "pandas", "pyomo", "scipy.linalg", "altair")


def test_a_solve_loads_no_library_that_it_does_not_use() -> None:
    program = f"""
import sys, rarmodel
rarmodel.solve("two-servers")
print([name for name in {UNUSED!r} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_linear_algebra_still_works_in_somebody_s_compiled_code() -> None:
    program = """
import numba, numpy as np, rarmodel.engine
print(numba.njit(lambda a: np.kron(a, a) @ np.linalg.inv(np.kron(a, a)))(2.0 * np.eye(2)).trace())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("4.0\n", "")
