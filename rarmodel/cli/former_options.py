"""Options of earlier versions, which go on meaning what they meant.

Scripts and pages use them, so a command rewrites them into the options of today. They are not in
the help.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

_RATES = {
    f"--{name}": f"--cluster {name}="
    for name in ("network-gbps", "intra-server-gbps", "reduction-gbps", "oversubscription")
}
_CONTENTION = {
    **{
        f"--{name}": f"--contention {name}="
        for name in ("alpha", "concurrency", "overhead-ms-per-server")
    },
    "--no-contention": "--contention none",
}
FORMER: Mapping[str, Mapping[str, str]] = {
    "calibrate": {**_RATES, **_CONTENTION, "--model": "--contention model="},
    "describe": {"--jobs": "--list-jobs"},
    "generate": {
        **_RATES,
        **_CONTENTION,
        "--servers": "--cluster servers=",
        "--racks": "--cluster racks=",
        "--iterations": "--job-iterations",
        "--gradient-per-second": "--mb-per-second",
        "--gradient-per-job": "--mb-per-job",
    },
    "import": {
        **_RATES,
        **_CONTENTION,
        "--servers": "--cluster servers=",
        "--gpus-per-server": "--cluster gpus-per-server=",
        "--model": "--default-model",
    },
    "slurm": {**_RATES, "--jobs": "--whose", "--picture": "--plot"},
}
"""By command: each former option, and the one that replaces it. The value of one that ends in `=`
becomes part of the new value."""


def rewritten(command: str, arguments: Sequence[str]) -> list[str]:
    """The arguments of a command with the options of today."""
    return list(_words(FORMER.get(command, {}), iter(arguments)))


def _words(former: Mapping[str, str], arguments: Iterator[str]) -> Iterator[str]:
    for word in arguments:
        if word == "--":
            yield from (word, *arguments)
            return
        option, equals, value = word.partition("=")
        if option not in former:
            yield word
            continue
        name, space, part = former[option].partition(" ")
        if not space:
            yield name + equals + value
        elif not part.endswith("="):
            yield from (name, part)
        else:
            yield from (name, part + (value if equals else next(arguments, "")))
