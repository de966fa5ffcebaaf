"""Sets of servers as bits: 64 servers in a word."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from rarmodel.engine.compilation import compiled

Words = npt.NDArray[np.uint64]

BITS = 64
ONE_BIT, NO_BIT = np.uint64(1), np.uint64(0)
_FACTOR, _SHIFT = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
_LOWEST_BIT = np.zeros(BITS, np.int64)
for _bit in range(BITS):
    # The factor has each number of 6 bits in it once (a sequence of de Bruijn).
    _LOWEST_BIT[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit


def as_words(members: npt.NDArray[np.bool_]) -> Words:
    """Rows of truth values as rows of bits."""
    padded = np.zeros((len(members), BITS * words_for(members.shape[1])), np.bool_)
    padded[:, : members.shape[1]] = members
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def as_truths(words: Words, count: int) -> npt.NDArray[np.bool_]:
    """Rows of bits as rows of `count` truth values."""
    octets = words.astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little").astype(np.bool_)


def words_for(bits: int) -> int:
    """Words for so many bits."""
    return -(-bits // BITS)


@partial(compiled, inner=True)
def lowest_bit(word: np.uint64) -> int:
    """Place of the lowest bit that is set; there is one."""
    return int(_LOWEST_BIT[((word & (~word + ONE_BIT)) * _FACTOR) >> _SHIFT])
