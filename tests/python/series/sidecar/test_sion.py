"""SION containers, looked at with a reader of its own: written from the description of the format, with struct."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from helpers.inputs import sidecar
from helpers.programs.series import io_programs
from tailrace.core import IoError
from tailrace.io import series as tr

SAMPLES = Path(__file__).parents[3] / "data" / "sion"


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


@pytest.mark.parametrize("parameters", [{}, {"chunk_bytes": 700, "block_bytes": 512}])
def test_a_series_read_by_the_reader(tmp_path, parameters):
    uy = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)
    with tr.open(tmp_path / "run.sion", "w", parameters=parameters) as out:
        out.write_step(0.25, index=100, ux=2.0 * uy, uy=uy)
        assert out.engine == "sion"
    (step,) = sidecar.read(tmp_path / "run.sion")["steps"]
    streams = read_sion(tmp_path / "run.sion" / step["file"])
    for variable, values in zip(step["variables"], (2.0 * uy, uy), strict=True):
        ((task, offset, *box),) = variable["blocks"]
        assert box == [0, 0, 0, 4, 5, 6] and variable["shape"] == [4, 5, 6]
        found = np.frombuffer(streams[task], variable["type"], values.size, offset)
        np.testing.assert_array_equal(found.reshape(values.shape), values)


@pytest.mark.parametrize(("planes", "multiple"), [(67, 2 << 20), (7, 4096)])
def test_large_chunks_begin_at_multiples(tmp_path, planes, multiple):
    values = np.random.default_rng(1).random((planes, 256, 256))
    with tr.open(tmp_path / "run.sion", "w") as out:
        out.write_step(0.0, ux=values)
    (step,) = sidecar.read(tmp_path / "run.sion")["steps"]
    container = (tmp_path / "run.sion" / step["file"]).read_bytes()
    place = container.find(values[0, 0, :8].tobytes())
    assert place > 0 and place % multiple == 0
    assert len(container) < values.nbytes + 2 * multiple + 4096


def test_files_of_several_ranks(tmp_path, three):
    parameters = {"files": 2, "chunk_bytes": 1000, "block_bytes": 512}
    three.results(io_programs.write_two_planes_each, path=str(tmp_path / "run.sion"), parameters=parameters)
    container = tmp_path / "run.sion" / "step-00000007.sion"
    assert Path(f"{container}.000001").exists()
    for rank, stream in enumerate(read_sion(container)):
        assert stream == np.full(2 * 30 * 40, rank + 0.5).tobytes()
    assert tr.open(tmp_path / "run.sion")[0]["ux"][:, 0, 0].tolist() == [0.5, 0.5, 1.5, 1.5, 2.5, 2.5]


def test_a_cut_container_is_refused(tmp_path):
    ux = np.arange(24.0).reshape(2, 3, 4)
    with tr.open(tmp_path / "run.sion", "w") as out:
        out.write_step(0.25, index=100, ux=ux)
    file = tmp_path / "run.sion" / "step-00000100.sion"
    whole = file.read_bytes()
    for cut in range(50):
        file.write_bytes(whole[: len(whole) * cut // 50])
        with pytest.raises(IoError, match=r"run\.sion"):
            tr.open(tmp_path / "run.sion")[0]["ux"]
    file.write_bytes(whole)
    np.testing.assert_array_equal(tr.open(tmp_path / "run.sion")[0]["ux"], ux)


def test_a_cut_sidecar_keeps_the_steps_before(tmp_path):
    with tr.open(tmp_path / "run.sion", "w") as out:
        for step in range(3):
            out.write_step(0.25 * step, index=step, ux=np.full((2, 3, 4), float(step)))
    file = tmp_path / "run.sion" / "series.jsonl"
    whole = file.read_bytes()
    counts = set()
    for cut in range(len(whole)):
        file.write_bytes(whole[:cut])
        if cut < whole.index(b"\n") + 1:
            with pytest.raises(IoError, match="its first line, which describes the series, is damaged"):
                tr.open(tmp_path / "run.sion")
            continue
        with tr.open(tmp_path / "run.sion") as series:
            counts.add(len(series))
            assert [step["ux"][0, 0, 0] for step in series] == [float(step) for step in range(len(series))]
            assert "the series was not closed" in series.notes[0]
    assert counts == {0, 1, 2, 3}


def test_a_damaged_line_of_the_sidecar_costs_one_step(tmp_path):
    with tr.open(tmp_path / "run.sion", "w") as out:
        for step in range(3):
            out.write_step(0.25 * step, index=step, ux=np.full((2, 3, 4), float(step)))
    file = tmp_path / "run.sion" / "series.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"0.25", b"0.26")
    file.write_bytes(b"".join(lines))
    with tr.open(tmp_path / "run.sion") as series:
        assert [step.index for step in series] == [0, 2]
        assert series.verify() == [f"{file}: line 3 is damaged (it differs from its checksum)"]
    with pytest.raises(IoError, match="line 3 is damaged"):
        tr.open(tmp_path / "run.sion", "a")
