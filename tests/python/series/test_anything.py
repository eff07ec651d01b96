"""What a writer takes, its reader returns; the rest is refused by its name.

tests/fuzz/store_anything.py does more of it.
"""

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.harness.engines import KINDS
from helpers.programs.series import anything
from tailrace.core import engine_traits

LONG = "mean_of_product_of_velocity_x_and_temperature_gradient_y"  # 56 characters
FIELD = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_random_series(tmp_path, engine):
    """Other series on each number of ranks."""
    for ranks, count in ((1, 16), (2, 8), (3, 8), (4, 4)):
        kept, refused = anything.run_on_ranks(tmp_path, str(engine), 1000 * ranks, count, ranks, 300)
        assert kept > 3 * count and refused > 2 * count


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_long_names(tmp_path, engine):
    path, most = engine.path(tmp_path), engine_traits(engine.name).longest_name
    with tr.open(path, "w", engine=engine.name) as out:
        for count in (49, 56, 120, 200, 201):
            name = (LONG * 4)[:count]
            if most and count > most:
                with pytest.raises(tr.InputError, match=rf"{name}: the name has {count} characters, .*at most {most}"):
                    out.write_step(0.0, {name: FIELD})
            else:
                out.write_step(count, {name: FIELD, "p": -FIELD})
    with tr.open(path) as series:
        for step in series:
            (name,) = set(step.names) - {"p"}
            assert np.array_equal(step.read(name), FIELD) and np.array_equal(step.read("p"), -FIELD)
        assert len(series) == (4 if most == 200 else 5)
        assert series.verify() == []


def test_a_long_name_in_the_files_of_adios_hdf5(tmp_path):
    """ADIOS2 reads names of up to 49 characters: the files have such ones, and the writer tells them."""
    with tr.open(tmp_path / "long", "w", engine="adios_hdf5") as out:
        out.write_step(0.0, {LONG: FIELD, "p": -FIELD}, scalars={LONG.upper(): 2.5})
        (note,) = [note for note in out.notes if LONG in note]
    named = note.split("'")[3]
    with h5py.File(tmp_path / "long/step-00000000.h5") as file:
        names = sorted(file["Step0"])
        assert all(len(name) < 50 for name in names) and np.array_equal(file[f"Step0/{named}"], FIELD)
    with tr.open(tmp_path / "long") as series:
        assert sorted(series[0].names) == sorted([LONG, "p"]) and series[0].scalars == {LONG.upper(): 2.5}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("a\0b", "has: the text has a character NUL at byte 1"),
        (None, r"has: expected .*, found None \(NoneType\)"),
        (1j, r"has: expected .* found 1j \(complex\)"),
        (b"ab", r"has: expected .* found b'ab' \(bytes\)"),
        ([], r"has: expected .* found \[\] \(list\)"),
        (["a", 1], r"has: expected .* found \['a', 1\] \(list\)"),
        ("\ud800", "has: the text '.*' is not in UTF-8"),
        (1 << 63, "has: 9223372036854775808 does not fit into 64 bits"),
    ],
)
def test_attributes_and_values_that_no_engine_holds(tmp_path, value, why):
    with tr.open(tmp_path / "a.h5", "w") as out:
        with pytest.raises(tr.InputError, match=why):
            out.set_attribute("has", value)
        with pytest.raises(
            tr.InputError, match=why.replace(" or a list of numbers", "").replace("a text, a number", ".*")
        ):
            out.write_step(0.0, p=FIELD, scalars={"has": value})
        out.write_step(0.0, p=FIELD)
    with tr.open(tmp_path / "a.h5") as series:
        assert "has" not in series.attributes and series[0].scalars == {}


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_texts_of_all_lengths(tmp_path, engine):
    """ADIOS2 ends the program on an empty text in HDF5, and HDF5 has no room for a long attribute there."""
    texts = {f"text{count}": "ä" * count for count in (0, 1, 2000, 32_000, 40_000)}
    most = engine_traits(engine.name).longest_text
    kept = {name: text for name, text in texts.items() if not most or len(text.encode()) <= most}
    with tr.open(engine.path(tmp_path), "w", engine=engine.name) as out:
        for name in texts.keys() - kept.keys():
            with pytest.raises(tr.InputError, match=rf"{name}: the text has 80000 bytes, .* at most {most}"):
                out.set_attribute(name, texts[name])
        for name, text in kept.items():
            out.set_attribute(name, text)
        out.write_step(0.0, p=FIELD, scalars=kept)
    with tr.open(engine.path(tmp_path)) as series:
        assert series.attributes == kept and series[0].scalars == kept


@pytest.mark.parametrize("engine", KINDS, ids=str)
def test_a_name_with_another_type_in_a_later_step(tmp_path, engine):
    """ADIOS2 and VTK's files keep the type of a name; the other engines take each step as it is."""
    path, taken = engine.path(tmp_path), [0]
    with tr.open(path, "w", engine=engine.name) as out:
        out.write_step(0.0, p=FIELD, scalars={"a": 1, "b": 1.5, "c": "x"})
    for mode in ("a", "a"):  # the second time after steps that were refused
        with tr.open(path, mode) as out:
            for fields, scalars in (({}, {"a": 2.5}), ({"b": FIELD}, {}), ({}, {"c": 3}), ({}, {"p": 1.0})):
                index = (out.steps[-1].index if taken else 0) + 1
                try:
                    out.write_step(float(index), {"q": FIELD, **fields}, index=index, scalars=scalars)
                    taken.append(index)
                except tr.InputError as error:
                    assert "in an earlier step" in str(error) or "in the steps before" in str(error), error
            out.write_step(50.0, p=FIELD, scalars={"a": 5, "b": 2.5, "c": "y"})
            taken.append(50)
    with tr.open(path) as series:
        assert series.verify() == []
        assert series[-1].scalars == {"a": 5, "b": 2.5, "c": "y"} and isinstance(series[-1].scalars["a"], int)
        for step in series:
            assert all(np.array_equal(step.read(name), FIELD) for name in step.names)


def test_masked_arrays_are_refused(tmp_path):
    masked = np.ma.masked_less(FIELD, 3)
    with tr.open(tmp_path / "m.h5", "w") as out:
        for data in (masked, tr.Block(masked, (4, 3, 2))):
            with pytest.raises(tr.InputError, match=r"p: 3 of its 24 values are masked.*data\.filled\(numpy\.nan\)"):
                out.write_step(0.0, p=data)
        out.write_step(0.0, p=np.ma.masked_less(FIELD, -1))  # none is
        out.write_step(1.0, p=masked.filled(np.nan))
    with h5py.File(tmp_path / "m.h5") as file:
        assert np.isnan(np.concatenate([np.ravel(file[name]) for name in _arrays(file)])).sum() == 3


def _arrays(file):
    found = []
    file.visititems(
        lambda name, one: found.append(name) if isinstance(one, h5py.Dataset) and "/p" in f"/{name}" else None
    )
    return found


def test_flat_arrays_are_refused_with_a_way(tmp_path):
    with tr.open(tmp_path / "f.h5", "w") as out:
        with pytest.raises(
            tr.InputError, match=r"p: expected .* found \(3, 4\); to fix this, write data.reshape\(1, 3, 4\)"
        ):
            out.write_step(0.0, p=FIELD[0])
        out.write_step(0.0, p=FIELD[0].reshape(1, 3, 4))
    assert np.array_equal(tr.open(tmp_path / "f.h5")[0]["p"], FIELD[:1])
