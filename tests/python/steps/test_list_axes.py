"""Which lists are the axes of which others, by their names and lengths alone."""

from __future__ import annotations

import pytest

from tailrace.steps.abscissae import KINDS, fits, in_common, is_abscissa, kind_of, label_of
from tailrace.steps.list_axes import ListAxes, axes_of

Shapes = dict[str, tuple[int, ...]]


@pytest.mark.parametrize(
    ("shapes", "fixed", "expected"),
    [
        ({"k": (9,), "e": (9,)}, {"k"}, ListAxes({"e": ("k",), "k": ("k",)}, {"k"})),
        ({"mass": (9,), "charge": (9,)}, {"mass"}, ListAxes()),  # no name of an abscissa
        ({"k": (9,), "y": (9,)}, {"k", "y"}, ListAxes()),
        ({"k": (9,), "y": (9,), "e": (9,)}, {"k", "y"}, ListAxes()),
        # another measure of an axis has as many values; y_plus of another length is one for itself
        (
            {"y": (9,), "y_plus": (9,), "u": (9,)},
            {"y", "y_plus"},
            ListAxes({"y": ("y",), "y_plus": ("y",), "u": ("y",)}, {"y"}, {"y_plus": "y"}),
        ),
        (
            {"y": (9,), "yplus": (9,), "u": (9,)},
            {"y"},
            ListAxes({"y": ("y",), "yplus": ("y",), "u": ("y",)}, {"y"}, {"yplus": "y"}),
        ),
        (
            {"y": (9,), "y_plus": (8,), "u": (9,), "v": (8,)},
            {"y", "y_plus"},
            ListAxes(
                {"y": ("y",), "y_plus": ("y_plus",), "u": ("y",), "v": ("y_plus",)}, {"y", "y_plus"}
            ),
        ),
        # of edges the middle of the bins is the axis, by a name that nothing else has
        (
            {"q_edges": (9,), "q_density": (8,)},
            {"q_edges"},
            ListAxes({"q_density": ("q_centres",)}, centres={"q_centres": "q_edges"}),
        ),
        ({"bins": (9,), "pdf": (8,)}, {"bins"}, ListAxes({"pdf": ("centres",)}, centres={"centres": "bins"})),
        ({"bin_edges": (9,), "p": (8,)}, {"bin_edges"},
         ListAxes({"p": ("centres",)}, centres={"centres": "bin_edges"})),
        ({"bins": (9,), "pdf": (9,)}, {"bins"}, ListAxes({"bins": ("bins",), "pdf": ("bins",)}, {"bins"})),
        ({"bins": (9,), "pdf": (7,)}, {"bins"}, ListAxes()),
        (
            {"edges": (9,), "centres": (8,), "pdf": (8,)},
            {"edges"},
            ListAxes({"centres": ("edges_centre",), "pdf": ("edges_centre",)}, centres={"edges_centre": "edges"}),
        ),
        (
            {"centers": (9,), "pdf": (8,)},
            {"centers"},
            ListAxes({"pdf": ("centers_centre",)}, centres={"centers_centre": "centers"}),
        ),
        # tables
        (
            {"z": (5,), "y": (4,), "w": (5, 4)},
            {"z", "y"},
            ListAxes({"w": ("z", "y"), "z": ("z",), "y": ("y",)}, {"z", "y"}),
        ),
        (
            {"z": (5,), "y": (4,), "x": (4,), "w": (5, 4)},
            {"x", "y", "z"},
            ListAxes({"w": ("z", "w_column"), "z": ("z",)}, {"z"}),
        ),
        ({"z": (4,), "y": (4,), "x": (4,), "w": (4, 4)}, {"x", "y", "z"}, ListAxes()),
        ({"y": (5,), "t": (5, 2)}, {"y"}, ListAxes({"t": ("y", "t_column"), "y": ("y",)}, {"y"})),
        ({"y": (5,), "t": (2, 5)}, {"y"}, ListAxes()),
        ({"bins": (6,), "t": (5, 2)}, {"bins"}, ListAxes()),
    ],
)  # fmt: skip
def test_lists_along_lists(shapes: Shapes, fixed: set[str], expected: ListAxes) -> None:
    assert axes_of(shapes, fixed, {}) == expected


@pytest.mark.parametrize(
    ("shapes", "grid", "expected"),
    [
        ({"u": (8,), "w": (8, 9), "other": (7,)}, {"x": 10, "y": 9, "z": 8}, {"u": ("z",), "w": ("z", "y")}),
        ({"w": (8, 10), "v": (9, 10), "t": (10, 9)}, {"x": 10, "y": 9, "z": 8}, {"w": ("z", "x"), "v": ("y", "x")}),
        ({"u": (1,), "v": (2,)}, {"x": 10, "y": 2, "z": 1}, {"v": ("y",)}),
        ({"u": (8,), "w": (8, 8)}, {"x": 8, "y": 9, "z": 8}, {"w": ("z", "x")}),
        ({"w": (8, 9)}, {"x": 9, "y": 9, "z": 8}, {}),
        ({"u": (8,)}, {}, {}),
    ],
)
def test_lists_along_the_grid(shapes: Shapes, grid: dict[str, int], expected: dict[str, tuple[str, ...]]) -> None:
    assert axes_of(shapes, set(), grid) == ListAxes(expected)


def test_a_list_goes_before_the_grid() -> None:
    found = axes_of({"k": (8,), "e": (8,), "u": (9,)}, {"k"}, {"x": 9, "y": 8, "z": 7})
    assert found == ListAxes({"k": ("k",), "e": ("k",), "u": ("x",)}, {"k"})


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "kind", "known"),
    [
        (("k", "K", "kx", "kappa_z", "wave_number", "of_wavenumbers"), "spectrum", True),
        (("edges", "bins", "ux_edges", "bin_centres", "edges_of_q"), "histogram", True),
        (("x", "y_plus", "zplus", "r", "radius", "Distance", "coordinates"), "profile", True),
        (("ux", "ky_2", "sums", "xx"), "profile", False),
    ],
)
def test_names_tell_what_is_along_them(names: tuple[str, ...], kind: str, known: bool) -> None:
    for name in names:
        assert (kind_of(name), is_abscissa(name)) == (kind, known), name
        assert label_of(name) == (f"wave number  {name}" if kind == "spectrum" else name)
    assert kind in KINDS


@pytest.mark.parametrize(
    ("abscissa", "length", "count", "fit"),
    [("k", 8, 8, True), ("k", 9, 8, False), ("edges", 9, 8, True), ("edges", 8, 8, True), ("edges", 10, 8, False),
     ("edges", 7, 8, False), ("mass", 8, 8, False), ("mass", 9, 8, False)],
)  # fmt: skip
def test_edges_are_one_more(abscissa: str, length: int, count: int, fit: bool) -> None:
    assert fits(abscissa, length, count) == fit


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("q_edges", "q_density", 2),
        ("ky", "E_ky", 2),
        ("a", "b", 0),
        ("abc", "ab", 2),
        ("same", "same", 4),
        ("", "a", 0),
    ],
)
def test_letters_in_common(one: str, other: str, count: int) -> None:
    assert in_common(one, other) == in_common(other, one) == count
