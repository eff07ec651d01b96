"""Grids of XDMF files: only whole and growing places are believed."""

from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from tailrace.core import IoError
from tailrace.formats.xcompact3d.xdmf import _grid
from tailrace.grids import StretchedGrid, UniformGrid

POINTS = (4, 3, 1)
STRETCHED = ("0 1 2 4", "0 0.5 2", "7")


def geometry(kind: str, *lists: str, key: str = "Type") -> object:
    return fromstring(f'<Geometry {key}="{kind}">{"".join(f"<DataItem>{one}</DataItem>" for one in lists)}</Geometry>')


@pytest.mark.parametrize("key", ["Type", "GeometryType"])
def test_grids(key: str):
    found = _grid(Path("a"), geometry("ORIGIN_DXDYDZ", "3 2 1", "0.5 0.25 2", key=key), POINTS)
    assert found == UniformGrid(POINTS, (1.0, 2.0, 3.0), (2.0, 0.25, 0.5))
    found = _grid(Path("a"), geometry("vxvyvz", *STRETCHED, key=key), POINTS)
    places = tuple(tuple(map(float, one.split())) for one in STRETCHED)
    assert found == StretchedGrid(POINTS, (0.0, 0.0, 7.0), (4 / 3, 1.0, 1.0), coordinates=places)


@pytest.mark.parametrize(
    ("kind", "lists"),
    [
        ("ORIGIN_DXDYDZ", ("0 0 0", "1 1")),
        ("ORIGIN_DXDYDZ", ("0 0 0", "1 1 0")),
        ("ORIGIN_DXDYDZ", ("0 0 nan", "1 1 1")),
        ("ORIGIN_DXDYDZ", ("0 0 0", "1 1 inf")),
        ("ORIGIN_DXDYDZ", STRETCHED),
        ("VXVYVZ", ("0 1 2", "0 0.5 2", "7")),
        ("VXVYVZ", STRETCHED[:2]),
        ("VXVYVZ", ("0 1 1 4", *STRETCHED[1:])),
        ("VXVYVZ", ("0 1 2 inf", *STRETCHED[1:])),
        ("VXVYVZ", ("0 0 0", "1 1 1")),
        ("XYZ", STRETCHED),
        ("", STRETCHED),
    ],
)
def test_other_geometries_are_refused(kind: str, lists: tuple[str, ...]):
    with pytest.raises(IoError, match=r"a: <Geometry Type=.* expected ORIGIN_DXDYDZ .* or VXVYVZ with \[4, 3, 1\]"):
        _grid(Path("a"), geometry(kind, *lists), POINTS)


def test_words_that_are_no_numbers_are_named():
    with pytest.raises(IoError, match="found 'wide', expected a number"):
        _grid(Path("a"), geometry("ORIGIN_DXDYDZ", "0 0 0", "1 1 wide"), POINTS)
