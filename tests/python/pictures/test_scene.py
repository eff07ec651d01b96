"""Pictures are the same on any number of ranks, and show what is there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI
from PIL import Image, ImageDraw

from helpers.harness.kept import KEPT
from helpers.programs import pictures
from tailrace.consumers.picture import Picture
from tailrace.pictures import frame
from tailrace.pictures.camera import camera_of
from tailrace.pictures.colours import all_finite, default_name, range_of, sampled, signed, wider

pytest.importorskip("vtkmodules")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
def test_planes_of_neighbours(ranks):
    KEPT.ranks(ranks).results(pictures.planes_of_neighbours, limit=60)


def drawn(ranks, stretched, kind="opaque"):
    found = KEPT.ranks(ranks).results(pictures.images, limit=120, stretched=stretched, kind=kind)[0]
    return [np.array(image, np.uint8) for image in found]


@pytest.mark.parametrize("stretched", [False, True])
def test_the_same_picture_on_any_ranks(stretched):
    (alone,) = drawn(1, stretched)
    background = (alone == 255).all(axis=2).mean()
    assert alone.shape == (200, 320, 3) and 0.4 < background < 0.9, background
    for ranks in (2, 3, 6):
        for image in drawn(ranks, stretched):
            differ = (image != alone).any(axis=2)
            assert differ.mean() <= 1e-3, (ranks, differ.mean())
            assert np.abs(image.astype(int) - alone.astype(int)).max() <= 64


@pytest.mark.parametrize("stretched", [False, True])
def test_light_goes_through_the_parts_of_all_ranks(stretched):
    """Rays begin anew in each part, which is seen in the last digits only."""
    (alone,) = drawn(1, stretched, "volume")
    shown = (alone != 255).any(axis=2).mean()
    assert 0.1 < shown < 0.6, shown
    for ranks in (2, 3, 6):
        for image in drawn(ranks, stretched, "volume"):
            differ = np.abs(image.astype(int) - alone.astype(int)).max(axis=2)
            assert (differ > 4).mean() < 0.01 and differ.max() <= 64, (ranks, differ.max(), (differ > 4).mean())


@pytest.mark.parametrize("blended", [False, True])
def test_images_are_put_together_and_no_rank_has_more_to_do(blended):
    """What a rank moves is at most that of the whole image twice, with any number of ranks."""
    image = 46 * 60 * (4 if blended else 4 + 4)  # bytes of colours, and of depths
    for ranks in (1, 2, 3, 4, 6):
        difference, *moved = KEPT.ranks(ranks).results(pictures.composed, limit=60, blended=blended)[0]
        assert difference <= 1.1, (ranks, difference)  # two roundings
        assert len(moved) == ranks and max(moved) <= 2.3 * image, (ranks, moved)
        assert max(moved) <= 1.3 * sum(moved) / ranks, (ranks, moved)


@pytest.mark.parametrize("ranks", [1, 2])
def test_edges_are_as_smooth_as_asked(ranks):
    """The edge of a black plane on white paper has the shares of 1, 4 and 9 pixels that are drawn for each."""
    for smooth in (1, 2, 3):
        found = KEPT.ranks(ranks).results(pictures.smoothed, limit=60, smooth=smooth)[0]
        pixels = smooth**2
        assert len(found) > smooth and set(found) <= {round(255 * share / pixels) for share in range(pixels + 1)}


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_fog_hides_what_its_opacity_says(ranks):
    """The box is 10 units long, so that 0.9^10 of the white paper is seen behind the last colour of viridis."""
    found = KEPT.ranks(ranks).results(pictures.fog, limit=60, opacity=0.1)[0]
    clear = 0.9**10
    expected = [255 * clear + (1 - clear) * one for one in (253, 231, 36)]
    np.testing.assert_allclose(found, expected, atol=4)


def test_nothing_is_behind_a_clear_picture():
    (alone,) = drawn(1, False, "clear")
    assert alone.shape == (200, 320, 4)
    assert 0.4 < (alone[..., 3] == 0).mean() < 0.95 and (alone[..., 3] == 255).mean() > 0.03
    for image in drawn(3, False, "clear"):
        assert (image != alone).any(axis=2).mean() <= 1e-3


@pytest.mark.parametrize("view", ["corner", "x", "y", "z"])
@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_a_camera_sees_the_whole_box(view, up):
    lengths, size = (3.0, 2.0, 8.0), (640, 360)
    for turn in (0.0, 33.0, 200.0):
        camera = camera_of(view, up, lengths, size[0] / size[1], turn)
        corners = [(i * 3.0, j * 2.0, k * 8.0) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
        for corner in corners:
            column, row = camera.seen_at(corner, size)
            assert 0 < column < size[0] and 0 < row < size[1], (view, up, turn, corner)
        for corner in corners:  # depths are measured between near and far
            away = np.linalg.norm(np.array(corner) - camera.position)
            assert camera.near < away < 1.5 * camera.far


def test_numbers_of_the_axes_do_not_collide():
    """Of no view of boxes of several shapes; most numbers are there."""
    drawn = []

    class Pen:
        def __init__(self):
            self.pen = ImageDraw.Draw(Image.new("L", (10, 10)))

        def textbbox(self, place, text, **how):
            return self.pen.textbbox(place, text, **how)

        def text(self, place, text, **how):
            drawn.append(self.pen.textbbox(place, text, font=how["font"], anchor=how["anchor"]))

    counts = []
    for lengths in ((np.pi, np.pi, np.pi), (8.0, 2.0, 3.0), (1.0, 5.0, 0.2)):
        for turn in range(0, 360, 7):
            drawn.clear()
            camera = camera_of("corner", "z", lengths, 960 / 463, float(turn))
            frame._number_axes(Pen(), camera, lengths, (960, 463), (0, 0, 0))
            for at, (left, top, right, bottom) in enumerate(drawn):
                for other in drawn[at + 1 :]:
                    apart = other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top
                    assert apart, (lengths, turn)
            counts.append(len(drawn))
    assert max(counts) == 9 and np.mean(counts) > 7.5


def test_ranges():
    assert signed(-1e-17, 2.0) == (0.0, 2.0)  # an undershoot is no change of sign
    assert signed(-0.5, 2.0) == (-2.0, 2.0)
    assert signed(-0.05, 2.0) == (-0.05, 2.0) and default_name((-0.05, 2.0)) == "viridis"
    assert default_name((-2.0, 2.0)) == "RdBu_r"
    assert signed(0.1, 2.0) == (0.0, 2.0) and signed(1.5, 2.0) == (1.5, 2.0)
    assert wider(None, (-0.448, 0.448)) == (-0.5, 0.5)
    assert wider((-0.5, 0.5), (-0.4, 0.45)) == (-0.5, 0.5)  # it only grows
    low, high = wider((-0.5, 0.5), (-0.2, 0.71))
    assert (low, high) == (-0.8, 0.8)
    assert wider(None, (2.3, 7.7)) == (2.0, 8.0)


def test_ranges_of_colours_go_on_in_a_resumed_run():
    """Else its pictures have other colours, and a film jumps."""
    first, second = (object.__new__(Picture) for _ in range(2))
    for one in (first, second):
        one._drawing, one._section = SimpleNamespace(chosen={}), SimpleNamespace(name="wake")
    assert first.state() is None
    first._drawing.chosen["q"] = [0.25, 1.5]
    second.resume(SimpleNamespace(about=first.state().about))
    assert second._drawing.chosen == {"q": [0.25, 1.5]}
    second._section.name = "other"
    second._drawing.chosen = {}
    second.resume(SimpleNamespace(about=first.state().about))
    assert second._drawing.chosen == {}


def test_a_range_leaves_out_half_a_percent_at_each_end():
    values = np.linspace(1, 3, 100_001)
    for holes in ([], [np.nan], [np.inf, -np.inf], [np.nan, np.inf]):
        found = range_of(MPI.COMM_SELF, np.concatenate([holes, values]))
        assert found == pytest.approx((1.01, 2.99), abs=2 / 2048), holes
    for scale, dtype in ((1e-37, "f4"), (1e-44, "f4"), (1e38, "f4"), (1e-306, "f8"), (4e-323, "f8"), (5e307, "f8")):
        scaled = (scale * values).astype(dtype)
        found = range_of(MPI.COMM_SELF, scaled)
        assert scaled.min() <= found[0] <= found[1] <= scaled.max(), scale
        if scale > 1e-40:
            assert found == pytest.approx((1.01 * scale, 2.99 * scale), rel=2 / 2048), scale
    both = range_of(MPI.COMM_SELF, 1.7e308 * np.linspace(-1, 1, 10_001))
    assert both == pytest.approx((-1.7e308, 1.7e308), rel=0.02)
    few = np.concatenate([np.full(9 * len(values), 2.0), values])  # so that the ends are 5 % of these values
    assert range_of(MPI.COMM_SELF, few) == pytest.approx((1.1, 2.9), abs=2 / 2048)
    assert range_of(MPI.COMM_SELF, np.full(9, 2.0)) == (2.0, 2.0)
    assert range_of(MPI.COMM_SELF, np.full(9, np.nan)) == (0.0, 0.0)


def part_of(whole, start, count):
    """What a rank has of a field that is centred at nodes."""
    data = whole[tuple(slice(start[d], start[d] + count[d]) for d in (2, 1, 0))]
    operators = SimpleNamespace(shape=lambda _: whole.shape[::-1], box=lambda _: (start, count))
    return SimpleNamespace(operators=operators, centred=None, data=data)


def test_a_sample_is_that_of_the_whole_on_any_ranks():
    """Large fields alone: every second node of the whole, wherever the parts begin."""
    whole = np.random.default_rng(5).standard_normal((75, 113, 121))
    alone = sampled(part_of(whole, (0, 0, 0), (121, 113, 75)))
    np.testing.assert_array_equal(alone, whole[::2, ::2, ::2])
    for cut in (1, 38, 74):
        for split in (57, 112):
            boxes = [
                ((0, y, z), (121, ny, nz))
                for z, nz in ((0, cut), (cut, 75 - cut))
                for y, ny in ((0, split), (split, 113 - split))
            ]
            parts = [sampled(part_of(whole, *box)).ravel() for box in boxes]
            np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.sort(alone.ravel()))
    small = whole[:70, :113, :121]
    assert sampled(part_of(small, (0, 0, 0), (121, 113, 70))).size == small.size
    flat = np.zeros((20, 300, 300))
    assert sampled(part_of(flat, (0, 0, 0), (300, 300, 20))).size == flat.size


def test_values_whose_sum_is_too_large_are_finite():
    large = np.full((4, 5, 6), 3e38, np.float32)
    assert all_finite(large)
    large[1, 2, 3] = np.inf
    assert not all_finite(large)
    assert not all_finite(np.array([np.inf, -np.inf, 1.0]))
