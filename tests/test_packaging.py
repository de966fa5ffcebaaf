"""The layout: real folders at the top, one import name."""

from __future__ import annotations

import fnmatch
import importlib.util
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import rarmodel
from rarmodel.kinds import Kind
from rarmodel.registry import find

ROOT = Path(__file__).parents[1]
MAPPED = ["formulations", "instances", "solvers"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
IGNORED = ("__pycache__", ".mypy_cache")


def folder_of(package: str) -> Path:
    """Where the sources of a package are, by the mapping of `package-dir`."""
    mapping: dict[str, str] = SETUPTOOLS["package-dir"]
    parent, rest = package, ""
    while parent not in mapping:
        parent, _, last = parent.rpartition(".")
        rest = f"{last}/{rest}"
    return ROOT / mapping[parent] / rest


def packages_in(folder: Path, name: str) -> set[str]:
    """Packages below a folder, without following links."""
    found = {name} if (folder / "__init__.py").exists() else set()
    for inner in folder.iterdir():
        if inner.is_dir() and not inner.is_symlink() and inner.name not in IGNORED:
            found |= packages_in(inner, f"{name}.{inner.name}")
    return found


def test_packages_in_pyproject_are_the_folders() -> None:
    in_folders = packages_in(ROOT / "rarmodel", "rarmodel")
    for folder in MAPPED:
        in_folders |= packages_in(ROOT / folder, f"rarmodel.{folder}")
    assert SETUPTOOLS["packages"] == sorted(in_folders)


def test_every_package_is_where_the_mapping_says() -> None:
    assert set(SETUPTOOLS["package-dir"]) == {"rarmodel", *(f"rarmodel.{name}" for name in MAPPED)}
    for package in SETUPTOOLS["packages"]:
        assert (folder_of(package) / "__init__.py").is_file(), package


def test_every_file_that_is_no_code_is_package_data() -> None:
    for package in SETUPTOOLS["packages"]:
        patterns = SETUPTOOLS["package-data"].get(package, [])
        for path in folder_of(package).iterdir():
            if path.is_file() and not path.is_symlink() and path.suffix not in {".py", ".pyc"}:
                assert any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns), path


@pytest.mark.skipif(sys.platform == "win32", reason="links may be checked out as files")
@pytest.mark.parametrize("folder", MAPPED)
def test_link_leads_to_the_folder_at_the_top(folder: str) -> None:
    link = ROOT / "rarmodel" / folder
    assert link.is_symlink()
    assert link.readlink() == Path("..") / folder


@pytest.mark.parametrize("folder", MAPPED)
@pytest.mark.parametrize("name", ["", "other."])
def test_folder_imported_under_another_name_raises_with_the_cure(folder: str, name: str) -> None:
    spec = importlib.util.spec_from_file_location(name + folder, ROOT / folder / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.raises(ImportError, match=f"pip install -e .*import rarmodel.{folder}"):
        spec.loader.exec_module(module)


def test_import_from_the_root_of_the_checkout_raises_in_one_line() -> None:
    code = "import solvers"
    failed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    assert failed.returncode == 1
    assert "ImportError: this folder is imported as rarmodel.solvers, not as solvers" in (
        failed.stderr
    )


@pytest.mark.parametrize("kind", ["methods", "formulations", "objectives", "solvers"])
def test_entry_points_lead_to_parts_of_their_name(kind: Kind) -> None:
    points: dict[str, str] = PROJECT["project"]["entry-points"][f"rarmodel.{kind}"]
    assert list(points) == sorted(points)
    for name, target in points.items():
        assert find(kind, target).name == name


def test_script_is_the_command_line() -> None:
    assert PROJECT["project"]["scripts"] == {"rarmodel": "rarmodel.__main__:main"}


def test_version_is_that_of_the_distribution() -> None:
    assert rarmodel.__version__ == version("rarmodel")


def test_every_public_name_is_there_and_listed() -> None:
    for name in rarmodel.__all__:
        assert getattr(rarmodel, name).__name__ == name
    assert set(rarmodel.__all__) <= set(dir(rarmodel))
    assert rarmodel.__all__ == sorted(rarmodel.__all__)


def test_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'rarmodel' has no attribute 'nope'"):
        rarmodel.nope  # noqa: B018


def test_package_is_marked_as_typed() -> None:
    assert (ROOT / "rarmodel" / "py.typed").is_file()


def test_coverage_names_every_source_folder() -> None:
    assert set(PROJECT["tool"]["coverage"]["run"]["source"]) == {"rarmodel", *MAPPED}
