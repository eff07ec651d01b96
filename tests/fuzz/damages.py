"""Ways to damage bytes, chosen by a random generator."""

from __future__ import annotations

import random

_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1, 2**40)


def damage(data: bytes, dice: random.Random) -> bytes:
    """The data with one to three damages; never the same data, unless they are empty."""
    damaged = data
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        damaged = _one(bytearray(damaged), dice)
    return damaged


def _one(data: bytearray, dice: random.Random) -> bytes:
    if not data:
        return bytes(dice.randbytes(dice.randrange(64)))
    at = dice.randrange(len(data))
    size = min(dice.choice((1, 2, 4, 8, 64, 512)), len(data) - at)
    match dice.randrange(9):
        case 0:
            data[at] ^= 1 << dice.randrange(8)
        case 1:
            data[at] = dice.randrange(256)
        case 2:
            data[at : at + size] = bytes(size)
        case 3:
            data[at : at + size] = dice.randbytes(size)
        case 4:
            del data[at:]
        case 5:
            del data[at : at + size]
        case 6:
            data[at:at] = data[at : at + size]
        case 7:
            number = dice.choice(_NUMBERS).to_bytes(8, dice.choice(("little", "big")))
            data[at : at + 8] = number[: len(data[at : at + 8])]
        case _:
            other = dice.randrange(len(data))
            data[at : at + size] = data[other : other + size]
    return bytes(data)
