"""Add instances and families to the library, with nothing known yet; keep what is known of others.

    python docs/library_families.py

New files in instances/ join the examples. `rarmodel instances improve` takes schedules.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rarmodel.files import read_instance, read_record, to_json, write_text
from rarmodel.instances import (
    EXAMPLES,
    LIBRARY,
    Family,
    Generated,
    Library,
    Listed,
    changed,
    entries,
)
from rarmodel.model import instance_digest
from rarmodel.workloads.bundled import listed_instance

FOLDER = Path(__file__).parent.parent / "instances"
TEN, TWENTY = range(10), range(20)


def generated(
    name: str, words: str, seeds: Iterable[int], family: str, **parameters: Any
) -> Family:
    """A family of `rarmodel generate`."""
    made = Generated(family=family, **({"parameters": parameters} if parameters else {}))
    listed = []
    for seed in seeds:
        one = Listed(name=f"{name}-{seed}", seed=seed, sha256="0" * 64)
        family_of_one = Family(name=name, description=words, generate=made, instances=(one,))
        digest = instance_digest(listed_instance(family_of_one, one))
        listed.append(one.model_copy(update={"sha256": digest}))
    return Family(name=name, description=words, generate=made, instances=tuple(listed))


def stars(jobs: int, servers: int, words: str, **parameters: Any) -> Family:
    """Random stars of a shape."""
    words = f"{jobs} jobs of 1 to 6 GPUs on {servers} servers of 2 or 4, {words}."
    shape = {"jobs": jobs, "servers": servers, **parameters}
    return generated(f"stars-{jobs}x{servers}", words, TEN, "stars", **shape)


def examples(known: Iterable[Listed]) -> Family:
    """The instances that have files."""
    listed = {one.name: one for one in known}
    for path in sorted(FOLDER.glob("*.json")):
        if path.name != LIBRARY and path.stem not in listed:
            digest = instance_digest(read_instance(path))
            listed[path.stem] = Listed(name=path.stem, sha256=digest)
    words = "Instances with files: each shows something."
    return Family(name=EXAMPLES, description=words, instances=tuple(listed.values()))


def families() -> list[Family]:
    """The generated families."""
    ten_seconds = "in slots of 10 s"
    return [
        stars(6, 3, "in slots of 20 s", slot_seconds=20),
        *(
            stars(*shape, ten_seconds)
            for shape in [(8, 4), (12, 4), (16, 5), (20, 5), (30, 8), (40, 10)]
        ),
        generated(
            "contention",
            "60 jobs of 1 to 24 GPUs on 12 servers of 4, 8 or 16, with large gradients.",
            TEN,
            "contention",
        ),
        generated(
            "spread",
            "40 jobs of 2 to 16 GPUs on 10 servers of 4: nearly every ring must spread.",
            TEN,
            "spread",
        ),
        generated(
            "paper",
            "160 jobs on 20 servers of 4, 8, 16 or 32 GPUs: the paper's experiments.",
            TWENTY,
            "paper",
        ),
    ]


def main() -> None:
    """Write the library anew."""
    path = FOLDER / LIBRARY
    old = list(entries(read_record(Library, path)))
    known = {one.name: one for _, _, one in old}
    wanted = [examples(one for _, of, one in old if of.name == EXAMPLES), *families()]
    library = Library(schema_version=1, families=tuple(wanted))
    write_text(path, to_json(changed(library, lambda one: known.get(one.name, one))))


if __name__ == "__main__":
    main()
