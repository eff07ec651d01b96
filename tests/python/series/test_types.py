"""Types of values and lists of texts: every engine stores those that it has, and refuses the others by name."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.harness.engines import KINDS, Engine
from helpers.programs.series import streamed
from tailrace import core

TYPES = [
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("bool", "complex64", "complex128"),
]
NOT_OF_ADIOS2 = {"float16", "bool"}
SHAPE = (4, 3, 5)  # z, y, x
TEXTS = ["ux", "", "ein Maß", "two\nlines", "z" * 300]
GRID = tr.UniformGrid(SHAPE[::-1], (1.0, 2.0, 3.0), (0.5, 0.25, 0.125))


def values(name: str, salt: int = 0) -> np.ndarray:
    """With the smallest and largest value of the type."""
    dtype = np.dtype(name)
    random = np.random.default_rng([salt, TYPES.index(name)])
    if dtype.kind == "b":
        return random.random(SHAPE) > 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        found = random.integers(limits.min, limits.max, SHAPE, dtype, endpoint=True)
        found[0, 0, :2] = limits.min, limits.max
        return found
    real = random.standard_normal(SHAPE)
    return (real + 1j * real[::-1] if dtype.kind == "c" else real).astype(dtype)


def has(kind: Engine) -> list[str]:
    return kind.traits.types


def test_what_the_engines_have(kind):
    missing = NOT_OF_ADIOS2 if kind.traits.library == "ADIOS2" else set()
    assert has(kind) == [name for name in TYPES if name not in missing]


def test_each_type_comes_back_as_it_was(kind, tmp_path):
    """Arrays, parts of them, every nth point, lists and components; two steps, the second by another program."""
    path = kind.path(tmp_path)
    for step, mode in enumerate("wa"):
        with tr.open(path, mode, engine=kind.name, grid=GRID if mode == "w" else None) as out:
            out.begin_step(step, 0.5 * step)
            for name in has(kind):
                whole = values(name, step)
                out.write(name, whole)
                out.write(f"two_{name}", np.stack([whole, whole[::-1]]))
                out.write(f"some_{name}", whole, region=tr.Region((0, 1, 0), (3, 1, 2), (2, 1, 3)))
                out.write_list(f"list_{name}", whole[:, 0, :2])
            out.end_step()
    series = tr.open(path)
    assert series.verify() == []
    for step, stored in enumerate(series):
        for name in has(kind):
            whole = values(name, step)
            for found, wanted in (
                (stored.read(name), whole),
                (stored.read(name, ((1, 0, 2), (3, 2, 1))), whole[2:3, :2, 1:4]),
                (stored.read(f"two_{name}"), np.stack([whole, whole[::-1]])),
                (stored.read(f"some_{name}"), whole[::3, 1:2, ::2]),
                (stored.read(f"list_{name}"), whole[:, 0, :2]),
            ):
                assert found.dtype == np.dtype(name), name
                np.testing.assert_array_equal(found, wanted)
    data = series.to_xarray()
    for name in has(kind):
        assert data[name].dtype == np.dtype(name)
        np.testing.assert_array_equal(data[name].values, np.stack([values(name, step) for step in (0, 1)]))


def test_all_but_complex_numbers_are_read_as_real_ones(kind, tmp_path):
    path = kind.path(tmp_path)
    with tr.open(path, "w", engine=kind.name) as out:
        out.write_step(0.0, {name: values(name) for name in has(kind)})
    step = tr.open(path)[0]
    for name in has(kind):
        for real in ("float32", "float64"):
            if name.startswith("complex"):
                with pytest.raises(tr.InputError, match=f"'{name}' is stored as {name} and cannot be read as {real}"):
                    step.read(name, dtype=real)
                continue
            with np.errstate(over="ignore"):
                np.testing.assert_array_equal(step.read(name, dtype=real), values(name).astype(real))


def test_halves_of_all_kinds_are_read_as_real_ones(tmp_path):
    """Zeros with a sign, subnormal numbers, infinities and what is no number: all 65536 bit patterns."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(32, 32, 64)
    with tr.open(tmp_path / "run.h5", "w") as out:
        out.write_step(0.0, h=halves)
    step = tr.open(tmp_path / "run.h5")[0]
    for real in ("float32", "float64"):
        found, wanted = step.read("h", dtype=real), halves.astype(real)
        np.testing.assert_array_equal(found, wanted)
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))


@pytest.mark.parametrize("name", sorted(NOT_OF_ADIOS2))
@pytest.mark.parametrize("kind", [one for one in KINDS if one.traits.library == "ADIOS2"], ids=str)
def test_what_an_engine_does_not_have_is_refused_by_name(tmp_path, kind, name):
    path = kind.path(tmp_path)
    with tr.open(path, "w", engine=kind.name) as out:
        said = (
            f"mask: the engine {kind} stores no {name}, but float32, .*; to fix this, convert it, or use another engine"
        )
        with pytest.raises(tr.InputError, match=said):
            out.write_step(0.0, mask=values(name))
        with pytest.raises(tr.InputError, match=said):
            out.write_step(0.0, lists={"mask": values(name)[0]})
        with pytest.raises(tr.InputError, match=said):
            out.declare("mask", SHAPE[::-1], name)
        out.write_step(1.0, mask=values(name).astype("float32"))
    assert [step.time for step in tr.open(path)] == [1.0]


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i2", ">u8", ">c16"])
def test_arrays_of_another_byte_order(kind, tmp_path, dtype):
    path, native = kind.path(tmp_path), np.dtype(dtype).newbyteorder("=")
    whole = values(native.name)
    with tr.open(path, "w", engine=kind.name) as out:
        out.begin_step(0, 0.0)
        out.write("a", whole.astype(dtype), deferred=True)
        out.end_step()
    found = tr.open(path)[0].read("a")
    assert found.dtype == native and np.array_equal(found, whole)


@pytest.mark.parametrize("dtype", ["float64", "int32", "int64"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_digits_are_lost_unless_that_is_wanted(kind, tmp_path, dtype):
    """An array is stored in the type of its first step; another one with more digits is an error, not rounded."""
    values = (np.arange(60.0).reshape(3, 4, 5) * 1e6).astype(dtype) + np.asarray(1, dtype)
    how = {"engine": kind.name, "parameters": kind.parameters}
    with tr.open(kind.path(tmp_path), "w", **how) as out:
        out.write_step(0.0, f=values.astype(np.float32), lists={"l": np.float32([[1.5]])})
        with pytest.raises(
            core.InputError, match=f"'f' was float32 before and is now {dtype}, whose digits would be lost"
        ):
            out.write_step(1.0, f=values)
        with pytest.raises(core.InputError, match=f"'l' was float32 before and is now {dtype}"):
            out.write_step(1.0, f=values.astype(np.float32), lists={"l": values[0, :, :1]})
        out.write_step(1.0, f=np.zeros(values.shape, np.float16), lists={"l": np.float32([[1.5]])})
    (tmp_path / "wanted").mkdir()
    with tr.open(kind.path(tmp_path / "wanted"), "w", precision="float32", **how) as out:
        for time in range(2):
            out.write_step(time, f=values.astype(["float32", dtype][time]))


def test_the_files_of_hdf5_are_those_of_h5py(tmp_path):
    """h5py reads each type as its own."""
    with tr.open(tmp_path / "run.h5", "w", grid=GRID) as out:
        out.set_attribute("names", TEXTS)
        out.write_step(0.0, {name: values(name) for name in TYPES}, lists={f"l_{n}": values(n)[0] for n in TYPES})
    with h5py.File(tmp_path / "run.h5") as file:
        for name in TYPES:
            place = "VTKHDF/PointData" if name not in (*NOT_OF_ADIOS2, "complex64", "complex128") else "Fields"
            data = file[place][name]
            assert data.dtype == np.dtype(name)
            np.testing.assert_array_equal(data[0], values(name))
        assert [text.decode() for text in file["Tailrace/attributes"].attrs["names"]] == TEXTS


@pytest.mark.parametrize("dtype", [">i2", "u1", "u4", ">u8", "i1", ">f4"])
def test_files_of_vtkhdf_of_other_programs(tmp_path, dtype):
    """The sign of a type counts, and the byte order does not."""
    native = np.dtype(dtype).newbyteorder("=")
    with h5py.File(tmp_path / "other.vtkhdf", "w") as file:
        vtk = file.create_group("VTKHDF")
        vtk.attrs["Version"], vtk.attrs["Type"] = (2, 0), np.bytes_("ImageData")
        vtk.attrs["WholeExtent"] = [0, 4, 0, 2, 0, 3]
        vtk.attrs["Origin"], vtk.attrs["Spacing"], vtk.attrs["Direction"] = (0.0,) * 3, (1.0,) * 3, np.eye(3).ravel()
        vtk["PointData/n"] = values(native.name)[None].astype(dtype)
        steps = vtk.create_group("Steps")
        steps.attrs["NSteps"], steps["Values"] = 1, [0.5]
    found = tr.open(tmp_path / "other.vtkhdf")[0].read("n")
    assert found.dtype == native and np.array_equal(found, values(native.name))


def test_the_files_of_raw_are_plain_numbers(tmp_path):
    with tr.open(tmp_path / "run", "w", engine="raw") as out:
        out.write_step(0.0, {name: values(name) for name in TYPES})
    for name in TYPES:
        found = np.fromfile(tmp_path / "run" / f"{name}-1.bin", name)
        np.testing.assert_array_equal(found, values(name).ravel())


def test_lists_of_texts(kind, tmp_path):
    path = kind.path(tmp_path)
    lists = {"names": TEXTS, "one": ["x"], "empty": [""], "many": [f"name {i}" for i in range(9000)]}
    with tr.open(path, "w", engine=kind.name) as out:
        if not kind.traits.text_lists:
            with pytest.raises(
                tr.InputError, match="names: the engine bp4 stores no lists of texts; to fix this, join"
            ):
                out.set_attribute("names", TEXTS)
            lists = {}
        for name, texts in lists.items():
            out.set_attribute(name, texts)
        out.write_step(0.0, ux=values("float64"))
        for name, texts in lists.items():
            out.set_attribute(name, tuple(reversed(texts)))
        out.write_step(1.0, ux=values("float64"))
    assert tr.open(path).attributes == {name: texts[::-1] for name, texts in lists.items()}


@pytest.mark.parametrize("texts", [["a", "b\0c"], ["a", 1], ["a", None], [b"a"], []])
def test_lists_of_something_else_are_refused(kind, tmp_path, texts):
    path = kind.path(tmp_path)
    with tr.open(path, "w", engine=kind.name) as out:
        with pytest.raises(tr.InputError, match="names: "):
            out.set_attribute("names", texts)
        out.write_step(0.0, ux=values("float64"))
    assert tr.open(path).attributes == {}


def test_a_stream_has_the_types_of_adios2(stream):
    writer = stream.program(None, sys.executable, streamed.__file__, "send_types")
    reader = stream.program(None, sys.executable, streamed.__file__, "take_types")
    writer.finish()
    assert reader.finish()[-1] == "end"


@pytest.fixture
def mixed(tmp_path) -> Path:
    """A series of hdf5 with all types and a list of texts."""
    path = tmp_path / "mixed.h5"
    with tr.open(path, "w", grid=GRID) as out:
        out.set_attribute("names", TEXTS)
        for step in range(2):
            out.write_step(0.5 * step, {name: values(name, step) for name in TYPES})
    return path


@pytest.mark.parametrize("target", ["to.h5", "to.bp", "to.bp4", "to.adios_hdf5", "to.sion", "to"])
def test_a_conversion_keeps_types_or_tells(mixed, tmp_path, target):
    done = tr.convert(mixed, tmp_path / target)
    result = tr.open(tmp_path / target)
    has = core.engine_traits(result.engine)
    wider = {name: other for name, other in (("bool", "uint8"), ("float16", "float32")) if name not in has.types}
    for step, stored in enumerate(result):
        for name in TYPES:
            found = stored.read(name)
            assert found.dtype == wider.get(name, name)
            np.testing.assert_array_equal(found, values(name, step))
    told = [note for note in done.notes if "which holds its values" in note]
    assert len(told) == len(wider)
    assert result.attributes["names"] == (TEXTS if has.text_lists else ", ".join(TEXTS))
    assert any("has no lists of texts" in note for note in done.notes) != has.text_lists


def test_complex_numbers_are_not_taken_for_real_ones(tmp_path):
    """They have no order and no trapezoidal rule of real numbers: no imaginary part is dropped in silence."""
    operators = tr.Operators((12, 10, 8), (1.2, 1.0, 0.8), ("periodic",) * 3)
    random = np.random.default_rng(1)
    z = random.standard_normal((8, 10, 12)) + 1j * random.standard_normal((8, 10, 12))
    f = tr.Field(z, operators, name="z")
    said = r"z: its values are complex; expected real ones\. To fix this, take its \.real, its \.imag or abs\(\) of it"
    for work in (
        lambda: f.mean(), lambda: f.mean("x"), lambda: f.min(), lambda: f.max(), lambda: f.integral(),
        lambda: tr.ddx(f), lambda: tr.curl(tr.Vector(f, f, f)), lambda: tr.interpolate(f, "x", "centre"),
        lambda: tr.filter(f, "x"), lambda: tr.spectrum(f), lambda: tr.spectrum_1d(f, "x"),
        lambda: tr.correlation(f, "x"), lambda: tr.histogram(f), lambda: tr.mean_square(f),
    ):  # fmt: skip
        with warnings.catch_warnings(), pytest.raises(tr.InputError, match=said):
            warnings.simplefilter("error")
            work()
    assert f.real.mean() == pytest.approx(z.real.mean()) and f.imag.max() == z.imag.max()
    assert abs(f).max() == np.abs(z).max()
    assert f.sum() == pytest.approx(z.sum()) and "mean" in repr(f) and "complex128" in f._repr_html_()
