"""Into how many equal instances NVIDIA's Multi-Instance GPU (MIG) divides a GPU, by profile."""

from __future__ import annotations

import re
from collections.abc import Mapping

MIG = re.compile(r"(?:^|[^0-9a-z])([0-9]+g\.[0-9]+gb(?:\+[a-z]+)*)", re.IGNORECASE)
"""In a type of GPU: an instance of MIG, such as `1g.10gb` or `a100_3g.20gb`."""

_PER_GPU: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("1g.5gb", "1g.12gb", "1g.18gb", "1g.23gb"), (7,)),
    **dict.fromkeys(("1g.6gb", "1g.20gb", "1g.24gb", "1g.35gb", "1g.45gb"), (4,)),
    "1g.10gb": (7, 4),  # Of GPUs with 80 GB, and with twice the memory of those with 40 GB.
    **dict.fromkeys(("2g.10gb", "2g.20gb", "2g.24gb", "2g.35gb", "2g.45gb"), (3,)),
    "2g.12gb": (2,),
    **dict.fromkeys(("3g.20gb", "3g.40gb", "3g.47gb", "3g.48gb", "3g.71gb", "3g.90gb"), (2,)),
    **dict.fromkeys(("4g.20gb", "4g.24gb", "4g.40gb", "4g.47gb", "4g.48gb"), (1,)),
    **dict.fromkeys(("4g.71gb", "4g.90gb", "7g.40gb", "7g.80gb", "7g.94gb", "7g.96gb"), (1,)),
    **dict.fromkeys(("7g.141gb", "7g.180gb"), (1,)),
}
"""Most instances of a profile on one GPU: A30, A100, H100, GH200, H200 and B200, by NVIDIA's guide
to MIG."""


def instances_per_gpu(kind: str, count: int) -> int | None:
    """How many of a node's so many equal instances each GPU has; None if that is not known.

    A GPU is taken to have as many as it can have, or else its rest could hold more.

    Parameters
    ----------
    kind
        The profile, or a type of GPU that ends in it.
    count
        The instances of the node.
    """
    found = MIG.search(kind)
    known = _PER_GPU.get(found[1].lower(), ()) if found else ()
    return next((each for each in known if count and count % each == 0), None)
