"""What must be the same in two pictures of one chart."""

from __future__ import annotations

import re

POSITION = re.compile(rb"\d{10} \d{5} [nf]\s*")


def same_each_time(picture: bytes, form: str) -> bytes | list[bytes]:
    """The bytes of a picture; of a PDF its lines in order, without the positions of its objects.

    The library writes the objects of a PDF, and the entries of their dictionaries, in any order.
    """
    if form != "pdf":
        return picture
    return sorted(line for line in picture.splitlines() if not POSITION.fullmatch(line))
