"""The command `tailrace plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tailrace.text import visible

from .common import fail, say


def plot(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Tables (.csv), series of any engine, checkpoints; a pattern in quotes, as 'b_*.h5', is one series.",
        ),
    ],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="The picture (.png, .pdf, .svg).")] = None,
    film: Annotated[
        Path | None, typer.Option("--film", help="A film (.mp4, .webm) of a slice at all steps, or at those of --step.")
    ] = None,
    rate: Annotated[int, typer.Option("--rate", min=1, max=120, help="Steps of the film in a second.")] = 12,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            help="time-series, spectrum, histogram, profile, slice, isosurface, channel; by default what the file is.",
        ),
    ] = None,
    columns: Annotated[
        list[str], typer.Option("--column", metavar="NAME", help="A column, number or array; repeatable.")
    ] = [],  # noqa: B006
    x: Annotated[str | None, typer.Option("--x", metavar="NAME", help="The column that they are drawn over.")] = None,
    field: Annotated[
        str | None,
        typer.Option(
            "--field",
            help="A stored field, a vector (u: its length), or vorticity, q, lambda2, divergence of u. By default the "
            "vorticity if it is stored, else the first field.",
        ),
    ] = None,
    axis: Annotated[
        str | None,
        typer.Option("--axis", help="x, y or z: normal to a slice, by default z; along a profile or a 1-D spectrum."),
    ] = None,
    index: Annotated[int | None, typer.Option("--index", help="Node of a slice; the middle by default.")] = None,
    at: Annotated[
        float | None, typer.Option("--at", metavar="COORDINATE", help="Place of a slice, instead of --index.")
    ] = None,
    steps: Annotated[
        list[int],
        typer.Option(
            "--step", metavar="N", help="Stored step, from 0; -1, the default, is the last. Of curves repeatable."
        ),
    ] = [],  # noqa: B006
    times: Annotated[
        list[float], typer.Option("--time", metavar="T", help="The stored step nearest to a time, instead.")
    ] = [],  # noqa: B006
    values: Annotated[
        list[float], typer.Option("--value", metavar="V", help="Value of an isosurface; repeatable.")
    ] = [],  # noqa: B006
    log: Annotated[bool, typer.Option("--log", help="Logarithmic values.")] = False,
    loglog: Annotated[bool, typer.Option("--loglog", help="Both axes logarithmic, as of spectra.")] = False,
    limits: Annotated[
        tuple[float, float] | None,
        typer.Option("--range", metavar="LOW HIGH", help="Of the colours of a slice, or of the axis of curves."),
    ] = None,
    crop: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(
            "--crop", metavar="LEFT RIGHT BOTTOM TOP", help="The part of a slice, or of curves, by its coordinates."
        ),
    ] = None,
    colours: Annotated[
        str, typer.Option("--colours", metavar="NAME", help="Colour map of a slice, one of matplotlib.")
    ] = "",
    slopes: Annotated[
        list[str], typer.Option("--slope", metavar="-5/3", help="A reference line of this slope; repeatable.")
    ] = [],  # noqa: B006
    label: Annotated[
        str,
        typer.Option(
            "--label", metavar="TEXT", help="Name of each file in the legend; 'Re {reynolds}' takes a key of its case."
        ),
    ] = "",
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            help="To compare with: a time series or Xcompact3D's time_evol.dat for runs, profiles for a channel.",
        ),
    ] = None,
    dt: Annotated[float | None, typer.Option("--dt", help="Time step of a time_evol.dat.")] = None,
    grid: Annotated[
        Path | None, typer.Option("--grid", help="TOML file with the grid, where a series has none.")
    ] = None,
) -> None:
    """Draw what runs and analyses have written: curves, those of several files over each other, slices, isosurfaces.

    It is found out what each file is; --kind draws something else of it. Fields can be drawn as slices and isosurfaces,
    and as their spectrum, histogram or profile.
    """
    if film is not None and (len(paths) > 1 or out is not None):
        fail("--film makes one film of one series; leave -o and the other files out")
    try:
        from tailrace.render.options import Options
        from tailrace.render.others import others
        from tailrace.render.plot import plot as draw
    except ImportError as error:
        fail(f"{error}\n  tailrace doctor says what is missing", 1)
    try:
        given: dict[str, Any] = {
            "kind": kind, "columns": columns, "x": x, "field": field, "axis": axis, "index": index, "at": at,
            "steps": steps, "times": times, "values": values, "log": log, "loglog": loglog, "range": limits,
            "crop": crop, "colours": colours, "slopes": slopes, "label": label,
            "reference": reference, "dt": dt, "grid": grid,
        }  # fmt: skip
        if film is not None:
            _make_film(paths[0], film, rate, given)
            return
        pictures = draw(paths, out, **given)
        left_out = [text for path in paths if (text := others(path, Options(**given)))]
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        fail(error)
    for picture in pictures:
        print(visible(picture))
    for text in left_out:
        say(f"note: {text}")


def _make_film(path: Path, film: Path, rate: int, given: dict[str, Any]) -> None:
    from tailrace.render.plot import film as make
    from tailrace.text import duration
    from tailrace.text import size as size_of

    count = make(path, film, rate, **given)
    print(f"{visible(film)}: {count} pictures, {duration(count / rate)}, {size_of(film.stat().st_size)}")
