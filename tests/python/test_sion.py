"""SION containers, looked at with a reader of its own: written from the description of the format, with struct."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "data" / "sion"


def read_sion(path: Path) -> list[bytes]:
    """The stream of every task."""
    streams: dict[int, bytes] = {}
    number, files, mapping = 0, 1, None
    while number < files:
        data = (path if number == 0 else Path(f"{path}.{number:06d}")).read_bytes()
        assert data[:4] == b"sion"
        order = ">" if data[4] else "<"

        def take(kind: str, at: int, data: bytes = data, order: str = order) -> tuple[int, ...]:
            return struct.unpack_from(order + kind, data, at)

        version, block, n, files, this = take("5i", 16)
        assert (version, this) == (5, number)
        assert take("2q", 36) in {(50 << 32, 0), (51 << 32, 0)}
        assert data[52:1076].rstrip(b"\0").decode() == path.name
        ranks, chunks = take(f"{n}q", 1076), take(f"{n}q", 1076 + 8 * n)
        (blocks,), (lengths,) = take("i", 1076 + 16 * n), take("q", 1080 + 16 * n)
        begin = -(-(1088 + 16 * n) // block) * block
        skip = sum(chunks)
        assert all(chunk % block == 0 for chunk in chunks) and lengths == begin + blocks * skip
        used_blocks = take(f"{n}q", lengths)
        assert max(used_blocks) == blocks
        end = lengths + 8 * n * (1 + blocks)
        for task, rank in enumerate(ranks):
            used = [take("q", lengths + 8 * (n * (1 + b) + task))[0] for b in range(blocks)]
            assert all(0 <= u <= chunks[task] for u in used) and not any(used[used_blocks[task] :])
            start = begin + sum(chunks[:task])
            assert rank not in streams
            streams[rank] = b"".join(data[start + b * skip :][:u] for b, u in enumerate(used))
            if mapping is not None:
                assert mapping[rank] == (number, task)
        if number == 0 and files > 1:
            (total,) = take("i", end)
            pairs = take(f"{2 * total}i", end + 4)
            mapping = list(zip(pairs[::2], pairs[1::2], strict=True))
            assert [mapping[rank] for rank in ranks] == [(0, task) for task in range(n)]
            end += 4 + 8 * total
        assert len(data) == end
        number += 1
    assert sorted(streams) == list(range(len(streams)))
    return [streams[rank] for rank in range(len(streams))]


@pytest.mark.parametrize("name", ["one.sion", "multiblock.sion", "twofiles.sion"])
def test_the_reader_reads_what_sionlib_wrote(name):
    for rank, stream in enumerate(read_sion(SAMPLES / name)):
        assert stream == bytes((31 * rank + i) % 251 for i in range(len(stream))) and len(stream) > 3000
