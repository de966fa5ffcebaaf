"""Write the families below, and the examples in instances/, into the library of instances.

    python docs/library_families.py

What is known of instances stays; of new ones nothing is known, until `rarmodel instances improve`
takes a schedule.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rarmodel.files import read_instance, read_record, to_json, write_text
from rarmodel.instances import EXAMPLES, LIBRARY, Family, Generated, Library, Listed, entries
from rarmodel.model import instance_digest
from rarmodel.workloads.bundled import listed_instance

FOLDER = Path(__file__).parent.parent / "instances"
UNKNOWN = "0" * 64
SHOW = "Instances with files: each shows something."
STARS = [(6, 3, 20), (8, 4, 10), (12, 4, 10), (16, 5, 10), (20, 5, 10), (30, 8, 10), (40, 10, 10)]
"""Jobs, servers, and seconds of a slot."""


def generated(name: str, words: str, seeds: int, family: str, **parameters: Any) -> Family:
    """Instances of a family of `rarmodel generate` with the first seeds, without digests."""
    made = Generated(family=family, **({"parameters": parameters} if parameters else {}))
    listed = [Listed(name=f"{name}-{seed}", seed=seed, sha256=UNKNOWN) for seed in range(seeds)]
    return Family(name=name, description=words, generate=made, instances=tuple(listed))


def stars(jobs: int, servers: int, seconds: int) -> Family:
    """Random stars of a shape."""
    words = f"{jobs} jobs of 1 to 6 GPUs on {servers} servers of 2 or 4, in slots of {seconds} s."
    slots = {} if seconds == 10 else {"slot_seconds": seconds}
    name = f"stars-{jobs}x{servers}"
    return generated(name, words, 10, "stars", jobs=jobs, servers=servers, **slots)


FAMILIES = (
    *(stars(*shape) for shape in STARS),
    generated(
        "contention",
        "60 jobs of 1 to 24 GPUs on 12 servers of 4, 8 or 16, with large gradients.",
        *(10, "contention"),
    ),
    generated(
        "spread",
        "40 jobs of 2 to 16 GPUs on 10 servers of 4: nearly every ring must spread.",
        *(10, "spread"),
    ),
    generated(
        "paper",
        "160 jobs on 20 servers of 4, 8, 16 or 32 GPUs: the paper's experiments.",
        *(20, "paper"),
    ),
)


def renewed(library: Library) -> Library:
    """The library with all families and examples, and what was known of their instances."""
    known = {listed.name: listed for _, _, listed in entries(library)}
    files = {path.stem for path in FOLDER.glob("*.json")} - {Path(LIBRARY).stem}
    old = [name for name in known if name in files]
    examples = [Listed(name=name, sha256=UNKNOWN) for name in (*old, *sorted(files - {*old}))]
    families = []
    for family in (Family(name=EXAMPLES, description=SHOW, instances=tuple(examples)), *FAMILIES):
        listed = tuple(known.get(one.name) or digested(family, one) for one in family.instances)
        families.append(family.model_copy(update={"instances": listed}))
    return Library(schema_version=1, families=tuple(families))


def digested(family: Family, listed: Listed) -> Listed:
    """A new instance with its digest."""
    if family.name == EXAMPLES:
        instance = read_instance(FOLDER / f"{listed.name}.json")
    else:
        instance = listed_instance(family, listed)
    return listed.model_copy(update={"sha256": instance_digest(instance)})


if __name__ == "__main__":
    write_text(FOLDER / LIBRARY, to_json(renewed(read_record(Library, FOLDER / LIBRARY))))
