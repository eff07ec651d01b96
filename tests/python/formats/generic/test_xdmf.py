"""XDMF files with values in HDF5, written here as FEniCS, meshio and solvers on structured grids write them."""

import pickle

import h5py
import numpy as np
import pytest

import tailrace as tr
from helpers.harness.as_click import invoke as tailrace

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>\n<Xdmf Version="3.0"><Domain>\n'
TAIL = "</Domain></Xdmf>\n"


def values(*shape, salt=0):
    return np.arange(float(np.prod(shape))).reshape(shape) + 1000.0 * salt


def fenics(folder):
    """Two functions on a mesh of triangles, each in a collection of its own; later grids refer to the first one."""
    with h5py.File(folder / "u.h5", "w") as file:
        file["Mesh/0/mesh/topology"] = np.arange(12, dtype="i8").reshape(4, 3)
        file["Mesh/0/mesh/geometry"] = values(6, 2)
        for step in range(3):
            file[f"VisualisationVector/{step}"] = values(6, 1, salt=step)
            file[f"Velocity/{step}"] = values(6, 3, salt=10 + step)
    mesh = (
        '<Topology NumberOfElements="4" TopologyType="Triangle" NodesPerElement="3"><DataItem Dimensions="4 3" '
        'NumberType="UInt" Format="HDF">u.h5:/Mesh/0/mesh/topology</DataItem></Topology><Geometry GeometryType="XY">'
        '<DataItem Dimensions="6 2" Format="HDF">u.h5:/Mesh/0/mesh/geometry</DataItem></Geometry>'
    )
    text = HEAD
    for name, where, kind in (("p", "VisualisationVector", "Scalar"), ("v", "Velocity", "Vector")):
        text += f'<Grid Name="TimeSeries_{name}" GridType="Collection" CollectionType="Temporal">\n'
        for step in range(3):
            text += f'<Grid Name="mesh" GridType="Uniform">{mesh}<Time Value="{0.5 * step}"/>'
            text += f'<Attribute Name="{name}" AttributeType="{kind}" Center="Node"><DataItem Format="HDF">'
            text += f"u.h5:/{where}/{step}</DataItem></Attribute></Grid>\n"
        text += "</Grid>\n"
    (folder / "u.xdmf").write_text(text + TAIL)
    return folder / "u.xdmf"


def test_functions_on_a_mesh(tmp_path):
    with tr.open(fenics(tmp_path)) as series:
        assert list(series.times) == [0.0, 0.5, 1.0] and sorted(series[0].names) == ["p", "v"]
        again = pickle.loads(pickle.dumps(series))
        for step, same in zip(series, again, strict=True):
            number = step.index
            assert np.array_equal(step.read("p"), values(6, salt=number))
            assert np.array_equal(same.read("v"), values(6, 3, salt=10 + number))
            assert np.array_equal(step.read("v", ((1, 2, 0), (2, 3, 1))), values(6, 3, salt=10 + number)[2:5, 1:])
        assert series.verify() == [] and len(series.files) == 2
    assert tailrace("info", tmp_path / "u.xdmf").exit_code == 0


def structured(folder, times=(0.0, 0.25), fields="ux p"):
    """One array over all steps, of which each grid selects an entry; places on lines, in the file."""
    along = [np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5]), np.array([0.0, 0.1, 0.4, 0.9, 1.6]), np.arange(4.0)]
    with h5py.File(folder / "s.h5", "w") as file:
        for at, name in enumerate(fields.split()):
            file[f"fields/{name}"] = values(len(times), 4, 5, 6, salt=at)
        for axis, places in zip("xyz", along, strict=True):
            file[f"grid/{axis}"] = places
    text = HEAD + '<Grid GridType="Collection" CollectionType="Temporal">'
    for step, time in enumerate(times):
        text += f'<Grid><Time Value="{time}"/><Topology TopologyType="3DRectMesh" Dimensions="4 5 6"/>'
        text += '<Geometry GeometryType="VXVYVZ">'
        for axis, places in zip("xyz", along, strict=True):
            text += f'<DataItem Dimensions="{len(places)}" Format="HDF">s.h5:/grid/{axis}</DataItem>'
        text += "</Geometry>"
        for name in fields.split():
            text += f'<Attribute Name="{name}"><DataItem ItemType="HyperSlab" Dimensions="4 5 6">'
            text += f'<DataItem Dimensions="3 4" Format="XML">{step} 0 0 0 1 1 1 1 1 4 5 6</DataItem><DataItem '
            text += (
                f'Dimensions="{len(times)} 4 5 6" Format="HDF">s.h5:/fields/{name}</DataItem></DataItem></Attribute>'
            )
        text += "</Grid>"
    (folder / "s.xmf").write_text(text + "</Grid>" + TAIL)
    return folder / "s.xmf", along


def test_an_entry_of_an_array_over_all_steps(tmp_path):
    path, along = structured(tmp_path)
    with tr.open(path) as series:
        assert list(series.times) == [0.0, 0.25]
        for at, step in enumerate(series):
            assert np.array_equal(step.read("ux"), values(2, 4, 5, 6)[at])
            assert np.array_equal(step.read("p", ((1, 2, 3), (3, 2, 1))), values(2, 4, 5, 6, salt=1)[at, 3:4, 2:4, 1:4])
        assert all(np.allclose(a, b) for a, b in zip(series.grid.coordinates, along, strict=True))
        assert np.array_equal(series.to_xarray()["y"], along[1])


@pytest.mark.parametrize(
    ("told", "inner", "times"),
    [
        ('<Time TimeType="List"><DataItem Dimensions="2" Format="XML">0.5 0.75</DataItem></Time>', "", [0.5, 0.75]),
        ('<Time TimeType="HyperSlab"><DataItem Dimensions="3">0.5 0.25 2</DataItem></Time>', "", [0.5, 0.75]),
        ('<Time TimeType="List"><DataItem Format="HDF">s.h5:/grid/t</DataItem></Time>', "", [0.5, 0.75]),
        ('<Time TimeType="Hyperslab"><DataItem Dimensions="3">0.5 0.25 2</DataItem></Time>', "", [0.5, 0.75]),
        ('<Time TimeType="List"><DataItem>5 7</DataItem></Time>', '<Time Value="2.5"/>', [2.5]),
        ('<Time TimeType="List"/>', '<Time Value="2.5"/>', [2.5]),
        ('<Time TimeType="List"><DataItem>soon later</DataItem></Time>', "", [0.0, 1.0]),
        ('<Time TimeType="List"><DataItem Format="HDF">gone.h5:/t</DataItem></Time>', "", [0.0, 1.0]),
        ('<Time TimeType="Range"><DataItem>0 1</DataItem></Time>', "", [0.0, 1.0]),
        ("", "", [0.0, 1.0]),
    ],
    ids=["list", "hyperslab", "in HDF5", "lower case", "own", "own and empty", "words", "gone", "range", "none"],
)
def test_times_of_a_collection(tmp_path, told, inner, times):
    """Grids without a time have that which the collection around them tells; else their positions stand for it."""
    path, _ = structured(tmp_path)
    with h5py.File(tmp_path / "s.h5", "a") as file:
        file["grid/t"] = [0.5, 0.75]
    text = path.read_text().replace('<Time Value="0.0"/>', inner).replace('<Time Value="0.25"/>', inner)
    path.write_text(text.replace('CollectionType="Temporal">', f'CollectionType="Temporal">{told}'))
    with tr.open(path) as series:
        assert list(series.times) == times
        assert ("positions stand" in " ".join(series.notes)) is (times == [0.0, 1.0])
        assert np.array_equal(series[-1].read("ux"), values(2, 4, 5, 6)[len(times) - 1])


def test_parts_of_a_time(tmp_path):
    """Grids in a spatial collection are of the time that the collection has."""
    path, _ = structured(tmp_path)
    text, about = path.read_text(), '<Grid GridType="Collection" CollectionType="Spatial">'
    for time, told in (("0.0", '<Time Value="0.0"/>'), ("0.25", "<Time><DataItem>0.25</DataItem></Time>")):
        text = text.replace(f'<Grid><Time Value="{time}"/>', f"{about}{told}<Grid/><Grid>")
    path.write_text(text.replace("</Attribute></Grid>", "</Attribute></Grid></Grid>"))
    with tr.open(path) as series:
        assert list(series.times) == [0.0, 0.25]
        assert np.array_equal(series[1].read("ux"), values(2, 4, 5, 6)[1])


@pytest.mark.parametrize(
    ("kind", "numbers", "message"),
    [
        ("List", "1 2 3", r"has the numbers \[1.0, 2.0, 3.0\]; expected 2, one for each grid"),
        ("HyperSlab", "0 1 7", r"has the numbers \[0.0, 1.0, 7.0\]; expected start, stride and the count 2"),
        ("HyperSlab", "0 1", "expected start, stride and the count 2"),
    ],
)
def test_times_of_other_grids_are_an_error(tmp_path, kind, numbers, message):
    path, _ = structured(tmp_path)
    told = f'CollectionType="Temporal"><Time TimeType="{kind}"><DataItem>{numbers}</DataItem></Time>'
    text = path.read_text().replace('CollectionType="Temporal">', told)
    path.write_text(text.replace('<Time Value="0.0"/>', "").replace('<Time Value="0.25"/>', ""))
    with pytest.raises(tr.IoError, match=message):
        tr.open(path)


def test_our_own_files_for_paraview(tmp_path):
    grid = tr.UniformGrid((6, 5, 4), (1.0, 2.0, 3.0), (0.5, 0.25, 0.125))
    with tr.open(tmp_path / "run.h5", "w", grid=grid) as out:
        for step in range(3):
            out.write_step(0.5 * step, ux=values(4, 5, 6, salt=step))
    with tr.open(tmp_path / "run.h5.xdmf2") as series:
        assert list(series.times) == [0.0, 0.5, 1.0]
        assert np.array_equal(series[2].read("ux"), values(4, 5, 6, salt=2))
        assert series.grid.points == grid.points and series.grid.origin == grid.origin


def test_a_file_that_is_gone_costs_its_variables_only(tmp_path):
    path = fenics(tmp_path)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["Velocity/0"] = values(6, 3)
    path.write_text(path.read_text().replace("u.h5:/Velocity", "v.h5:/Velocity"))
    (tmp_path / "v.h5").unlink()
    with tr.open(path) as series:
        assert series[1].names == ["p"] and any("'v' is left out: the file 'v.h5'" in note for note in series.notes)
        assert series.verify()
    (tmp_path / "u.h5").unlink()
    with pytest.raises(tr.IoError, match=r"u\.xdmf: names no array that can be read"):
        tr.open(path)


FIRST = "u.h5:/VisualisationVector/1"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (FIRST, "../u.h5:/VisualisationVector/1", "'p' is left out: the file '../u.h5' is not in"),
        (FIRST, "u.h5:/Nothing/1", "'u.h5' has no array '/Nothing/1'"),
        (FIRST, "u.h5", "it names 'u.h5'"),
        ('Value="0.5"', 'Value="half"', "a <Time> has Value='half'; expected a number"),
        ("</Domain>", "</Somewhere>", "expected XML without entities"),
    ],
)
def test_what_does_not_fit_is_told(tmp_path, old, new, message):
    path = fenics(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    try:
        with tr.open(path) as series:
            said = "\n".join(series.notes)
    except tr.IoError as error:
        said = str(error)
    assert message in said


def test_a_selection_beyond_its_array(tmp_path):
    path, _ = structured(tmp_path)
    for old, new in (("1 0 0 0 1 1", "7 0 0 0 1 1"), ("1 4 5 6</DataItem>", "1 4 5 3</DataItem>")):
        text = path.read_text()
        path.write_text(text.replace(old, new))
        try:
            with tr.open(path) as series:
                assert len(series[1].names) == 0 and any("left out" in note for note in series.notes)
        except tr.IoError as error:
            assert "its HyperSlab takes a part of an array" in str(error)
        path.write_text(text)


def test_a_vector_joined_of_arrays_that_are_read_is_nothing_left_out(tmp_path):
    """As in the file that VTK's older reader opens beside each of our own series."""
    with tr.open(tmp_path / "run.h5", "w", grid=tr.UniformGrid((4, 3, 2))) as out:
        out.write_step(0.5, {name: values(2, 3, 4, salt=salt) for salt, name in enumerate(("ux", "uy", "uz"))})
    drawn = tmp_path / "run.h5.xdmf2"
    assert "JOIN" in drawn.read_text()
    with tr.open(drawn) as series:
        assert len(series[0].names) == 3 and series.verify() == []
    assert tailrace("verify", drawn).exit_code == 0
    drawn.write_text(drawn.read_text().replace("JOIN($0, $1, $2)", "$0 + $1 + $2"))
    assert tailrace("verify", drawn).exit_code == 1, "what is computed is not read"
