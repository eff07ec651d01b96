"""What a series can hold besides three-dimensional reals: components, integers, lists, texts; and what is copied."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from tailrace.core import InputError
from tailrace.io import series as tr
from tailrace.io.handle import Handle

PATHS = {
    "raw": "run",
    "sion": "run.sion",
    "hdf5": "run.h5",
    "bp4": "run.bp4",
    "bp5": "run.bp",
    "adios_hdf5": "run.adios_hdf5",
}


@pytest.fixture(params=list(PATHS))
def path(request, tmp_path):
    return tmp_path / PATHS[request.param]


def components(dtype: str = "float64") -> np.ndarray:
    return np.arange(3 * 4 * 5 * 6).reshape(3, 4, 5, 6).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_components(path, dtype):
    f = components(dtype)
    with tr.open(path, "w") as out:
        out.write_step(0.0, f=f)
    step = tr.open(path)[0]
    assert step.names == ["f_1", "f_2", "f_3"] and step.components("f") == 3 and step.components("f_1") == 0
    assert "f" in step and "g" not in step
    assert step["f"].dtype == dtype
    np.testing.assert_array_equal(step["f"], f)
    np.testing.assert_array_equal(step["f_2"], f[1])
    np.testing.assert_array_equal(step.read("f", ((1, 2, 3), (4, 2, 1))), f[:, 3:4, 2:4, 1:5])
    for other in ("float32", "float64"):
        assert step.read("f", dtype=other).dtype == other
        np.testing.assert_array_equal(step.read("f", dtype=other), f)
    with pytest.raises(InputError, match="no variable 'g'"):
        step["g"]


def test_one_component_is_no_array(path):
    f = components()[:1]
    with tr.open(path, "w") as out:
        out.write_step(0.0, f=f)
    with tr.open(path) as stored:
        assert stored[0].names == ["f_1"] and stored[0].components("f") == 1 and "f" in stored[0]
        np.testing.assert_array_equal(stored[0]["f"], f)


def test_components_with_ghosts_and_regions(path):
    f = components()
    wide = np.pad(f, ((0, 0), (1, 1), (0, 0), (2, 2)), constant_values=np.nan)
    with tr.open(path, "w") as out:
        out.begin_step(0, 0.0)
        out.write("f", tr.Block(wide, (6, 5, 4), ghosts=(2, 0, 1)))
        out.write("coarse", f, region=tr.Region((0, 1, 0), (3, 1, 2), (2, 1, 3)))
        out.write("later", f, deferred=True)
        out.end_step()
    step = tr.open(path)[0]
    np.testing.assert_array_equal(step["f"], f)
    np.testing.assert_array_equal(step["coarse"], f[:, ::3, 1:2, ::2])
    np.testing.assert_array_equal(step["later"], f)


OUTSIDE = [
    ((1, 0, 0), (6, 1, 1), (1, 1, 1)),
    ((0, 5, 0), (1, 1, 1), (1, 1, 1)),
    ((0, 0, 0), (1, 1, 2), (1, 1, 4)),
    ((2, 0, 0), (3, 1, 1), (2, 1, 1)),
    ((-1, 0, 0), (1, 1, 1), (1, 1, 1)),
    ((0, 0, 0), (1, 0, 1), (1, 1, 1)),
    ((0, 0, 0), (1, 1, 1), (1, 1, 0)),
]


@pytest.mark.parametrize("region", OUTSIDE)
def test_a_region_ends_with_the_variable(path, region):
    """Neither its first nor its last point may lie outside; beside the last one that fits, the next is refused."""
    with tr.open(path, "w") as out:
        out.begin_step(0, 0.0)
        with pytest.raises(InputError, match="no region starts at"):
            out.write("f", components(), region=tr.Region(*region))
    with tr.open(path, "w") as out:
        out.begin_step(0, 0.0)
        out.write("f", components(), region=tr.Region((1, 4, 0), (3, 1, 2), (2, 9, 3)))
        out.end_step()
    np.testing.assert_array_equal(tr.open(path)[0]["f"], components()[:, ::3, 4:5, 1::2])


def test_lists_and_texts(path):
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    with tr.open(path, "w") as out:
        out.write_step(
            0.0, lists={"particles": rows, "ids": np.arange(4)}, scalars={"note": "two words", "count": 2**60 + 1}
        )
        out.write_step(1.0, lists={"particles": rows[:1], "ids": np.arange(0)})
        out.write_step(2.0, lists={"ids": np.arange(1)})
    first, second, third = tr.open(path)
    assert first.variables["particles"] == ("float32", (2, 4, 1), True)
    np.testing.assert_array_equal(first["particles"], rows)
    np.testing.assert_array_equal(first.read("particles", ((0, 1, 0), (2, 2, 1))), rows[1:3])
    np.testing.assert_array_equal(first["ids"], np.arange(4))
    assert first["ids"].dtype == np.int64 and first.scalars == {"note": "two words", "count": 2**60 + 1}
    assert second["particles"].shape == (1, 2) and second["ids"].shape == (0,)
    assert third.names == ["ids"] and third["ids"].tolist() == [0]
    assert not any(step.unchecked for step in (first, second, third)), "a list without rows lacks no checksum"
    assert "particles" in repr(second) and "list of 1 x 1" in repr(tr.open(path))


@pytest.mark.parametrize(
    ("dtype", "way"),
    [
        ("longdouble", r"write \.astype\('float64'\), which rounds them"),
        ("clongdouble", r"write \.astype\('complex128'\), which rounds them"),
        ("M8[s]", "write numbers of one of these types"),
        ("U4", "write numbers of one of these types"),
        ("O", "write numbers of one of these types"),
    ],
)
def test_other_types_are_refused(path, dtype, way):
    with tr.open(path, "w") as out:
        out.begin_step(0, 0.0)
        for write in (lambda a: out.write("a", a), lambda a: out.write_list("a", a[0, 0])):
            expected = f"a: expected an array of numbers or of truth values, found .*{way}"
            with pytest.raises(InputError, match=expected):
                write(np.zeros((2, 2, 2), dtype))
        out.write("a", np.zeros((2, 2, 2)))
        out.end_step()
    np.testing.assert_array_equal(tr.open(path)[0]["a"], np.zeros((2, 2, 2)))


def test_contiguous_arrays_are_not_copied(path):
    """What is changed between a deferred write and end_step is noticed where the core has the array itself."""
    contiguous = components()[0]
    for array, noticed in ((contiguous, True), (contiguous[:, :, ::-1], False), (np.asfortranarray(contiguous), False)):
        out = tr.open(path, "w")
        out.begin_step(0, 0.0)
        out.write("a", array, deferred=True)
        before = array.copy()
        array[0, 0, 0] += 1
        if noticed:
            with pytest.raises(InputError, match="'a' was changed"):
                out.end_step()
            out.close()
        else:
            out.end_step()
            out.close()
            np.testing.assert_array_equal(tr.open(path)[0]["a"], before)


def test_a_list_keeps_its_columns(path):
    engine = "adios_hdf5" if path.suffix == ".adios_hdf5" else None
    with tr.open(path, "w", engine=engine) as out:
        out.write_step(0.0, lists={"p": np.ones((3, 2))})
        for rows in (np.ones((3, 3)), np.ones(3)):
            with pytest.raises(InputError, match="shape of 'p' was 2 x"):
                out.write_step(1.0, lists={"p": rows})
        out.write_step(1.0, lists={"p": np.ones((4, 2))})
    with tr.open(path) as stored:
        assert [step["p"].shape for step in stored] == [(3, 2), (4, 2)]


def test_a_deferred_array_lives_until_the_end_of_the_step(tmp_path, monkeypatch):
    """Also one that nobody else holds; the core reads its memory in end_step."""
    array, core, kept = components()[0].copy(), Handle.writer, []
    alive, values = weakref.ref(array), array.copy()

    def watched(handle):
        kept.append(alive() is not None)
        return core(handle)

    with tr.open(tmp_path / "run", "w") as out:
        out.begin_step(0, 0.0)
        out.write("a", array, deferred=True)
        del array
        with monkeypatch.context() as patched:
            patched.setattr(Handle, "writer", watched)
            out.end_step()
        assert kept == [True] and alive() is None, "and no longer"
    np.testing.assert_array_equal(tr.open(tmp_path / "run")[0]["a"], values)


@pytest.mark.parametrize("end", ["abandoned", "abandoned twice", "failed", "closed before"])
def test_a_deferred_array_is_let_go_with_its_step(path, end):
    """Else a program that abandons steps keeps the memory of all of them."""
    arrays = [components()[0].copy() for _ in range(2)]
    alive = [weakref.ref(array) for array in arrays]
    out = tr.open(path, "w", engine="adios_hdf5" if path.suffix == ".adios_hdf5" else None)
    out.begin_step(0, 0.0)
    for name, array in zip("ab", arrays, strict=True):
        out.write(name, array, deferred=True)
    if end == "failed":
        arrays[0][0, 0, 0] += 1
    del array, arrays
    assert all(one() is not None for one in alive)
    if end == "failed":
        with pytest.raises(InputError, match="was changed"):
            out.end_step()
    elif end == "closed before":
        out._handle.drop()
        with pytest.raises(InputError, match="closed"):
            out.abandon_step()
    for _ in range({"abandoned": 1, "abandoned twice": 2}.get(end, 0)):
        out.abandon_step()
    gc.collect()
    assert [one() for one in alive] == [None, None]
    if end != "closed before":
        out.write_step(1.0, index=1, a=components()[0])
        out.close()
        assert [step.index for step in tr.open(path)] == [1]


def test_numbers_that_are_none_or_infinite(path):
    special = {"nan": np.nan, "plus": np.inf, "minus": -np.inf}
    engine = "adios_hdf5" if path.suffix == ".adios_hdf5" else None
    with tr.open(path, "w", engine=engine) as out:
        for name, value in special.items():
            out.set_attribute(name, value)
        out.set_attribute("several", [0.5, *special.values()])
        out.set_attribute("empty", "")
        out.write_step(0.0, u=np.zeros((2, 3, 4)), scalars=special)
    with tr.open(path) as stored:
        attributes, scalars = stored.attributes, stored[0].scalars
    for name, value in special.items():
        assert np.array_equal([attributes[name], scalars[name]], [value, value], equal_nan=True)
    assert np.array_equal(attributes["several"], [0.5, *special.values()], equal_nan=True)
    assert attributes["empty"] == ""


def test_many_blocks_in_a_step(path):
    """BP4 has no text over 65535 bytes; the checksums of a step may need more."""
    engine = "adios_hdf5" if path.suffix == ".adios_hdf5" else None
    names = [f"a_long_name_of_variable_{number:04}" for number in range(1200)]
    with tr.open(path, "w", engine=engine) as out:
        for index in range(2):
            out.write_step(
                index, {name: np.full((1, 1, 2), index + at) for at, name in enumerate(names[: 1200 - 1100 * index])}
            )
    with tr.open(path) as stored:
        assert [len(step.names) for step in stored] == [1200, 100]
        assert stored[0][names[-1]].tolist() == [[[1199.0, 1199.0]]] and not stored.verify()


@pytest.mark.parametrize("what", ["scalar", "attribute"])
def test_a_text_that_bp4_could_not_give_back(tmp_path, what):
    with tr.open(tmp_path / "run.bp4", "w") as out:
        out.write_step(0.0, u=np.zeros((2, 3, 4)), scalars={"note": "y" * 65535})
        with pytest.raises(InputError, match="note: the text has 65536 bytes, and the engine bp4 stores at most 65535"):
            if what == "attribute":
                out.set_attribute("note", "y" * 65536)
            else:
                out.write_step(1.0, u=np.ones((2, 3, 4)), scalars={"note": "y" * 65536})
        out.set_attribute("note", "short")
        out.write_step(2.0, u=np.ones((2, 3, 4)))
    with tr.open(tmp_path / "run.bp4") as stored:
        assert list(stored.times) == [0.0, 2.0] and len(stored[0].scalars["note"]) == 65535
        assert stored.attributes["note"] == "short" and not stored.verify()
