"""SION containers of other programs, written here with struct from the layout page of SIONlib."""

import os
import pickle
import random
import struct
from pathlib import Path

import numpy as np
import pytest

import tailrace as tr
from tailrace import core as _core
from tailrace.case.document import ConfigError
from tailrace.formats.sion import dataset_at
from tailrace.io.placement import Box

SAMPLES = Path(__file__).parents[3] / "data" / "sion"


def rounded(size, block):
    return -(-size // block) * block


def container(
    path, streams, *, chunks=None, split=(), order="<", data="<", keys=50, block=64, version=5, files=None, closed=True
):
    """Write a container; `split` has the number of streams of each file but the last."""
    counts = [*split, len(streams) - sum(split)]
    chunks = chunks or [block] * len(streams)
    begin, where = 0, []
    for number, count in enumerate(counts):
        mine, sizes = streams[begin : begin + count], chunks[begin : begin + count]
        ranks = range(begin, begin + count)
        room = [rounded(one, block) for one in sizes]
        blocks = max(1, *(-(-len(s) // c) if c else 0 for s, c in zip(mine, room, strict=True)))
        start, skip = rounded(1088 + 16 * count, block), sum(room)
        ends = start + blocks * skip
        marks = bytes([order == ">", data == ">", data == ">", order == ">"])
        head = b"sion" + marks + struct.pack(f"{order}7i", 1007, 6, version, block, count, files or len(counts), number)
        head += struct.pack(f"{order}qq", keys << 32, 0) + b"name".ljust(1024, b"\0")
        head += struct.pack(f"{order}{count}q", *ranks)
        head += struct.pack(f"{order}{count}q", *(sizes if version <= 3 else room))
        head += struct.pack(f"{order}iq", blocks, ends) if closed else bytes(12)
        body = bytearray(ends)
        body[: len(head)] = head
        used = []
        for local, (stream, size) in enumerate(zip(mine, room, strict=True)):
            pieces = [stream[at : at + size] for at in range(0, len(stream), size)] if size else []
            for b, piece in enumerate(pieces):
                at = start + sum(room[:local]) + b * skip
                body[at : at + len(piece)] = piece
            used.append([len(piece) for piece in pieces])
            where.append((number, local))
        table = [len(one) for one in used]
        for b in range(blocks):
            table += [one[b] if b < len(one) else 0 for one in used]
        tail = struct.pack(f"{order}{len(table)}q", *table) if closed else b""
        name = path if number == 0 else path.with_name(f"{path.name}.{number:06d}")
        name.write_bytes(bytes(body) + tail)
        begin += count
    if len(counts) > 1 and closed:
        flat = [n for pair in where for n in pair]
        with path.open("ab") as file:
            file.write(struct.pack(f"{order}{1 + len(flat)}i", len(streams), *flat))
    return path


def read(dataset, name, box=None, dtype=None):
    stored = dataset.variables(0)[name]
    box = box or Box((0, 0, 0), stored.shape)
    out = np.empty(box.count[::-1], dtype or stored.dtype)
    dataset.read(0, name, box, out)
    return out


def pattern(task, size):
    return bytes((31 * task + i) % 251 for i in range(size))


@pytest.mark.parametrize("name", ["one", "twofiles", "multiblock"])
def test_containers_of_sionlib_itself(name):
    with tr.open(SAMPLES / f"{name}.sion") as stored:
        step = stored.steps[0]
        assert len(step.variables) == 4
        for task in range(4):
            values = np.asarray(step[f"task_{task}"]).ravel()
            assert values.dtype == np.uint8
            assert values.tobytes() == pattern(task, len(values))


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("split", [(), (2,), (1, 3)])
def test_streams_over_chunks_and_files(tmp_path, order, split):
    streams = [pattern(task, size) for task, size in enumerate((0, 64, 65, 300, 7))]
    path = container(tmp_path / "x.sion", streams, split=split, order=order, chunks=[64, 64, 64, 128, 64])
    found = pickle.loads(pickle.dumps(dataset_at(path)))
    assert len(found.files) == len(split) + 1
    for task, stream in enumerate(streams):
        assert read(found, f"task_{task}").tobytes() == stream
    part = read(found, "task_3", Box((0, 120, 0), (1, 140, 1)))
    assert part.tobytes() == streams[3][120:260]
    assert f"task 3: 300 bytes in {-(-300 // 128)} chunks of 128 bytes" in " ".join(found.notes)


def test_chunk_sizes_of_old_formats_are_rounded_by_the_reader(tmp_path):
    streams = [pattern(0, 150), pattern(1, 20)]
    found = dataset_at(container(tmp_path / "x.sion", streams, chunks=[50, 10], version=3))
    assert [read(found, f"task_{task}").tobytes() for task in range(2)] == streams


def test_tasks_of_a_collective_container_may_share_blocks_of_the_file_system(tmp_path):
    path = container(tmp_path / "x.sion", [pattern(0, 20), pattern(1, 9)], block=8, chunks=[24, 16])
    raw = bytearray(path.read_bytes())
    struct.pack_into("<i", raw, 20, 16)  # its chunk of 24 bytes is no multiple of 16 now
    path.write_bytes(raw)
    assert rounded(1088 + 32, 16) == rounded(1088 + 32, 8)
    found = dataset_at(path)
    assert read(found, "task_1").tobytes() == pattern(1, 9)


def test_keys_with_values_in_several_pieces(tmp_path):
    def pairs(*all_pairs):
        return b"".join(struct.pack(">QQ", key, len(value)) + value for key, value in all_pairs)

    streams = [
        pairs((7, b"a" * 100), (2**63 + 1, b""), (7, b"b" * 30)),
        pairs((7, np.arange(5, dtype=">f4").tobytes())),
        b"",
    ]
    path = container(tmp_path / "x.sion", streams, keys=51, data=">")
    found = dataset_at(path)
    assert set(found.variables(0)) == {"task_0_key_7", f"task_0_key_{2**63 + 1}", "task_1_key_7"}
    assert read(found, "task_0_key_7").tobytes() == b"a" * 100 + b"b" * 30
    assert read(found, "task_0_key_7", Box((0, 95, 0), (1, 10, 1))).tobytes() == b"aaaaabbbbb"
    (tmp_path / "d.toml").write_text(
        '[[variable]]\nname = "p"\ndtype = "float32"\nkey = 7\ntasks = [1]\noffset = 4\n', encoding="utf-8"
    )
    found = dataset_at(path, {"description": str(tmp_path / "d.toml")})
    assert read(found, "p").ravel().tolist() == [1, 2, 3, 4]


DESCRIPTION = """
time = 0.5
index = 100

[[variable]]
name = "u"
dtype = "float64"
shape = [3, 2, 4]
processes = [2, 1, 2]
offset = 8

[[variable]]
name = "rows"
dtype = "uint16"
columns = 3
offset = 200

[[variable]]
name = "each"
dtype = "int64"
rows = 1
joined = false
tasks = [3, 1]
byte_order = "little"
"""


@pytest.mark.parametrize("data", "<>")
def test_a_description_makes_variables_of_streams(tmp_path, data):
    whole = np.random.default_rng(5).random((8, 2, 6))
    lists = [np.arange(3 * rows, dtype=np.uint16).reshape(rows, 3) + 1000 * rows for rows in (2, 0, 1, 5)]
    streams = []
    for task in range(4):
        i, k = task % 2, task // 2
        part = whole[4 * k : 4 * k + 4, :, 3 * i : 3 * i + 3]
        head = struct.pack("<q", 40 + task)
        streams.append(head + part.astype(f"{data}f8").tobytes() + lists[task].astype(f"{data}u2").tobytes())
    path = container(tmp_path / "x.sion", streams, data=data)
    (tmp_path / "x.sion.toml").write_text(DESCRIPTION, encoding="utf-8")  # found beside it
    with tr.open(path) as stored:
        assert (stored.steps[0].index, stored.steps[0].time) == (100, 0.5)
        assert np.array_equal(np.asarray(stored.steps[0]["u"]), whole)
    found = dataset_at(path)
    box = Box((1, 1, 2), (4, 1, 5))
    assert np.array_equal(read(found, "u", box), whole[2:7, 1:2, 1:5])
    assert np.array_equal(read(found, "u", Box((2, 0, 0), (1, 2, 8)), "float32"), whole[:, :, 2:3].astype("f4"))
    assert np.array_equal(read(found, "rows")[0], np.concatenate(lists))
    assert found.variables(0)["rows"].dtype == "uint16"
    assert read(found, "each_task_1").item() == 41


def test_long_rows_are_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("tailrace.formats.flat_array._PIECE", 40)
    whole = np.arange(2 * 3 * 11, dtype=np.int32).reshape(2, 3, 11)
    path = container(tmp_path / "x.sion", [whole.tobytes()])
    toml = tmp_path / "d.toml"
    toml.write_text('[[variable]]\nname = "u"\ndtype = "int32"\nshape = [11, 3, 2]\n', encoding="utf-8")
    found = dataset_at(path, {"description": str(toml)})
    for x, nx in ((0, 11), (2, 9), (8, 3), (3, 6)):
        assert np.array_equal(read(found, "u", Box((x, 1, 0), (nx, 2, 2))), whole[:, 1:, x : x + nx])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("shape = [3, 2, 400]", "expected 19200"),
        ("key = 3", "the container has no keys"),
        ("tasks = [9]", "task 9"),
        ("shape = [3, 2, 1]\nprocesses = [3, 1, 1]", "3 parts; there are 2 tasks"),
        ("columns = 7", "expected rows of 56 bytes"),
    ],
)
def test_a_description_that_does_not_fit(tmp_path, line, expected):
    path = container(tmp_path / "x.sion", [bytes(64), bytes(80)])
    (tmp_path / "d.toml").write_text(f'[[variable]]\nname = "u"\ndtype = "float64"\n{line}\n', encoding="utf-8")
    with pytest.raises(_core.InputError, match=expected):
        dataset_at(path, {"description": str(tmp_path / "d.toml")})


def test_a_wrong_description_or_parameter(tmp_path):
    path = container(tmp_path / "x.sion", [bytes(64)])
    (tmp_path / "d.toml").write_text('[[variable]]\nname = "a b"\ndtype = "complex64"\nsize = 3\n', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        dataset_at(path, {"description": str(tmp_path / "d.toml")})
    assert len(caught.value.problems) == 3
    with (tmp_path / "d.toml").open("ab") as file:
        file.truncate(1 << 25)
    with pytest.raises(ConfigError, match="has more than 16777216 letters"):
        dataset_at(path, {"description": str(tmp_path / "d.toml")})
    with pytest.raises(ConfigError, match="no such file"):
        dataset_at(path, {"description": str(tmp_path / "e.toml")})
    with pytest.raises(_core.InputError, match="'description', not descripton"):
        dataset_at(path, {"descripton": "x"})


def test_a_container_that_was_never_closed(tmp_path):
    path = container(tmp_path / "x.sion", [pattern(0, 100)], closed=False)
    with pytest.raises(_core.IoError, match="never closed"):
        tr.open(path)
    raw = bytearray(path.read_bytes())
    struct.pack_into("<iq", raw, 1076 + 16, 123456789, -77)  # what memory had there
    path.write_bytes(raw)
    with pytest.raises(_core.IoError, match="never closed"):
        dataset_at(path)


def test_files_that_are_missing_or_led_elsewhere(tmp_path):
    path = container(tmp_path / "x.sion", [pattern(0, 10), pattern(1, 10)], split=(1,))
    second = tmp_path / "x.sion.000001"
    with pytest.raises(_core.IoError, match="open the first file"):
        dataset_at(second)
    (tmp_path / "elsewhere").mkdir()
    moved = second.rename(tmp_path / "elsewhere" / "part")
    with pytest.raises(_core.IoError, match=r"there is no file x\.sion\.000001"):
        dataset_at(path)
    (tmp_path / "in").mkdir()
    path = path.rename(tmp_path / "in" / "x.sion")
    (tmp_path / "in" / "x.sion.000001").symlink_to(moved)
    with pytest.raises(_core.IoError, match="found a link"):
        dataset_at(path)


def try_it(path):
    """Open it and read all; whether it could be read."""
    try:
        found = dataset_at(path)
        for name in found.variables(0) if found is not None else ():
            read(found, name)
    except (_core.IoError, _core.InputError):
        return False
    return True


@pytest.mark.parametrize("keys", [50, 51])
def test_damaged_containers_end_in_errors(tmp_path, keys):
    streams = [struct.pack("<QQ", 4, 60) + pattern(0, 60), struct.pack("<QQ", 5, 3) + pattern(1, 3)]
    path = container(tmp_path / "x.sion", streams, split=(1,), keys=keys)
    whole = path.read_bytes()
    assert try_it(path)
    edges = [0, 3, 4, 8, 20, 36, 52, 1076, 1084, 1092, 1104, 1152, 1200, 1279, 1280, len(whole) - 20, len(whole) - 1]
    for size in edges:
        path.write_bytes(whole[:size])
        assert dataset_is_none(path) or not try_it(path)
    randomly = random.Random(3)
    places = [*range(52), *range(1076, 1104), *range(len(whole) - 52, len(whole))]
    readable = 0
    for _ in range(200):
        raw = bytearray(whole)
        for _ in range(randomly.randint(1, 3)):
            raw[randomly.choice(places)] ^= 1 << randomly.randrange(8)
        path.write_bytes(raw)
        readable += try_it(path)
    assert 0 < readable < 100  # bits of the version of SIONlib, for instance, do not matter


def dataset_is_none(path):
    try:
        return dataset_at(path) is None
    except _core.IoError:
        return False


@pytest.mark.parametrize(("at", "form", "value"), [(24, "<i", 2**31 - 1), (28, "<i", 2**31 - 1), (1084, "<q", 2**62)])
def test_absurd_counts_need_no_memory(tmp_path, at, form, value):
    path = container(tmp_path / "x.sion", [pattern(0, 10)])
    os.truncate(path, 1 << 40)  # full of holes
    with path.open("r+b") as file:
        file.seek(at)
        file.write(struct.pack(form, value))
    with pytest.raises(_core.IoError, match=r"x\.sion"):
        dataset_at(path)


def test_a_text_that_begins_alike_is_none(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("sion is a hill", encoding="utf-8")
    assert dataset_at(path) is None
