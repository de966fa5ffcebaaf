"""How pip builds rarmodel: as setuptools does, and then with compiled code in the wheel.

A wheel is built, its functions are compiled in a process that imports them from it, and what Numba
kept is added to it, in a folder beside the sources. The environment variable `RARMODEL_COMPILE`
says for whom:

- `here`, the default: for processors as this one, which is right for `pip install .`;
- `any`: for all processors of its kind, which is right for a wheel that others install;
- `no`: not at all. Then rarmodel compiles when it first needs a function.

Whatever of this code does not fit a machine is not used there. So the wheel stays one for all.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from setuptools import build_meta

build_editable = build_meta.build_editable
build_sdist = build_meta.build_sdist
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel

ASKED = "RARMODEL_COMPILE"
HERE, ANY, NO = "here", "any", "no"
NEEDED = ("highspy", "numba", "numpy", "pydantic", "pyyaml")
"""The dependencies without which nothing can be compiled."""
SHIPPED = "compiled_code"
"""As `rarmodel.engine.compilation` has it, which cannot be imported before its dependencies."""

Settings = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Setuptools' own requirements, and those of compilation."""
    found: list[str] = build_meta.get_requires_for_build_wheel(config_settings)
    return [*found, *requirements()] if asked() != NO else found


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel, and add compiled code to it."""
    name: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    if (processors := asked()) != NO:
        add_compiled_code(Path(wheel_directory, name), processors)
    return name


def asked() -> str:
    """For whom to compile.

    Raises
    ------
    ValueError
        If the environment variable is none of the words that it may be.
    """
    found = os.environ.get(ASKED, HERE)
    if found not in {HERE, ANY, NO}:
        raise ValueError(f"{ASKED}: {found!r} is none of {HERE}, {ANY} and {NO}")
    return found


def requirements() -> list[str]:
    """The dependencies that compilation needs, as `pyproject.toml` states them."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [line for line in project["dependencies"] if line.partition(">=")[0] in NEEDED]


def add_compiled_code(wheel: Path, processors: str) -> None:
    """Compile the functions of a wheel, and add the code to it.

    Raises
    ------
    RuntimeError
        If they cannot be compiled.
    """
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        # Python's own paths come after the wheel's, also those of pip's isolated environment.
        paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        environment.pop("NUMBA_CACHE_DIR", None)  # So it is kept beside the sources.
        if processors == ANY:
            environment |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
        compiling = [sys.executable, "-m", "rarmodel.wheels.kernels"]
        done = subprocess.run(compiling, cwd=folder, env=environment, check=False)  # noqa: S603
        if done.returncode != 0:
            raise RuntimeError(
                f"compilation failed, see above; {ASKED}={NO} installs rarmodel without it"
            )
        write_into(wheel, compiled_code(Path(folder)))


def compiled_code(folder: Path) -> dict[str, bytes]:
    """What was compiled in a folder with the package, by its name in a wheel."""
    package = folder / "rarmodel"
    return {
        f"rarmodel/{SHIPPED}/{file.parent.parent.relative_to(package).as_posix()}/{file.name}": (
            file.read_bytes()
        )
        for file in sorted(package.rglob("*.nb[ic]"))
    }


def write_into(wheel: Path, files: Mapping[str, bytes]) -> None:
    """Add files to a wheel, also to its record."""
    with zipfile.ZipFile(wheel) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
    record, listed = entries.pop(
        next(i for i, (entry, _) in enumerate(entries) if entry.filename.endswith("/RECORD"))
    )
    listed += "".join(map("{}\n".format, lines_of(files))).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, record.date_time)
            entry.external_attr = record.external_attr
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
        archive.writestr(record, listed)


def lines_of(files: Mapping[str, bytes]) -> Iterator[str]:
    """Lines of a wheel's record: name, digest and size."""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        yield f"{name},sha256={digest},{len(content)}"
