"""Inputs of Xcompact3D from the beginning that its case has itself: after a few steps the fields are those of 5.0.

The figures are those of its runs (double precision, one rank): of each field the root of the mean square and a value.
"""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.case.xcompact3d.input import read_input
from tailrace.flow.model import Model

GROUPS = {
    "BasicParam": {"p_row": 0, "p_col": 0, "ifirst": 1, "ilast": 5, "dt": 0.01},
    "NumOptions": {"ifirstder": 4, "isecondder": 4, "itimescheme": 5},
    "InOutParam": {"irestart": 0, "icheckpoint": 1000, "ioutput": 5, "nvisu": 1, "ilist": 1000},
    "Statistics": {"nstat": 1},
}


def grid(points: str, lengths: str, ends: str, **more: object) -> dict[str, object]:
    """The keys of a grid, from numbers in a row; `ends`: nclx1 nclxn ncly1 ..."""
    found = dict(zip(("nx", "ny", "nz"), points.split(), strict=True))
    found |= dict(zip(("xlx", "yly", "zlz"), lengths.split(), strict=True))
    names = [f"ncl{axis}{end}" for axis in "xyz" for end in "1n"]
    return found | dict(zip(names, ends.split(), strict=True)) | more


INPUTS: dict[str, dict[str, dict[str, object]]] = {
    "mixing layer": {
        "BasicParam": grid("16 17 8", "7.0 8.0 3.0", "0 0 1 1 0 0", itype=7, iin=1, re=200.0, u1=3.0)
        | {"istret": 1, "beta": 0.8},
        "NumOptions": {"itimescheme": 3},
    },
    "laminar channel": {
        "BasicParam": grid("16 17 8", "4.0 2.4 2.0", "0 0 2 2 0 0", itype=3, iin=0, re=500.0, numscalar=1)
        | {"istret": 2, "beta": 0.5, "gravy": -1.0},
        "NumOptions": {"isecondder": 5, "nu0nu": 3.0, "cnu": 0.3},
        "ScalarParam": {"sc(1)": 0.7, "ri(1)": 0.5},
    },
    "vortex in a box": {
        "BasicParam": grid("17 17 8", "3.0 2.5 4.0", "1 2 2 1 0 0", itype=2, iin=1, re=100.0, numscalar=1)
        | {"istret": 2, "beta": 1.5, "gravx": 0.6},
        "NumOptions": {"itimescheme": 2},
        "ScalarParam": {"sc(1)": 0.7, "ri(1)": 0.5},
    },
    "vortex with implicit large eddies": {  # as in its example of Re = 5000
        "BasicParam": grid("17 23 13", f"{np.pi} {2 * np.pi} {np.pi}", "1 1 1 1 1 1", itype=2, iin=1, re=5000.0)
        | {"ilesmod": 1},
        "NumOptions": {"isecondder": 5, "nu0nu": 63, "cnu": 0.22},
        "LESModel": {"jles": 4, "smagcst": 0.165, "walecst": 0.5, "iconserv": 0},
    },
    "vortex by Smagorinsky's model": {
        "BasicParam": grid("17 17 8", "3.0 2.5 4.0", "1 1 1 2 0 0", itype=2, iin=1, re=800.0, numscalar=1, ilesmod=1)
        | {"istret": 3, "beta": 0.7},
        "ScalarParam": {"sc(1)": 0.7},
        "LESModel": {"jles": 1},
    },
    "implicit diffusion": {
        "BasicParam": grid("17 19 8", f"3.0 {np.pi} 4.0", "1 1 1 1 0 0", itype=2, iin=1, re=40.0, numscalar=1)
        | {"istret": 2, "beta": 0.5},
        "NumOptions": {"iimplicit": 2, "itimescheme": 3},
        "ScalarParam": {"sc": 0.7},
    },
    "vortex by WALE": {
        "BasicParam": grid("17 19 8", f"{np.pi} {np.pi} 4.0", "1 2 2 1 0 0", itype=2, iin=1, re=800.0, numscalar=2)
        | {"istret": 2, "beta": 0.5, "ilesmod": 1},
        "NumOptions": {"isecondder": 5, "itimescheme": 3},
        "ScalarParam": {"sc": "0.7, 2.0"},
        "LESModel": {"jles": 2, "walecst": 0.5, "smagwalldamp": 1},
    },
    "gravity current": {
        "BasicParam": grid("33 17 9", "4.0 2.0 1.0", "1 1 2 2 1 1", itype=1, iin=0, re=300.0, numscalar=2)
        | {"istret": 2, "beta": 0.8, "gravy": -1.0},
        "ScalarParam": {"sc": "1.0, 4.0", "ri(2)": 1.5, "uset(2)": 0.2, "cp": "0.7, 0.6", "scalar_lbound(2)": 0.0},
        "CASE": {"pfront": 1.2},
    },
    "cylinder": {
        "BasicParam": grid("33 24 8", "8.0 5.0 1.0", "2 2 0 0 0 0", itype=5, iin=0, re=50.0, iibm=2, inflow_noise=0.1),
        "NumOptions": {"itimescheme": 2},
        "ibmstuff": {"cex": 2.6, "cey": 2.4, "ra": 0.9, "nraf": 10, "nobjmax": 2},
    },
}
FIGURES: dict[str, dict[str, tuple[float, float]]] = {
    "mixing layer": {
        "ux": (0.469149033719099, -0.4998523297543475),
        "uy": (0.014202668885382566, 0.01856375785111942),
        "uz": (0.0, 0.0),
    },
    "laminar channel": {
        "ux": (0.6060601978600068, 0.4175354983580863),
        "uy": (0.0001509120273252168, 2.891936413918899e-05),
        "uz": (1.0203295943662576, 1.371752593509564),
        "phi01": (0.2438001678347134, -0.00040565853919205666),
    },
    "vortex in a box": {
        "ux": (0.35614735859572094, 0.3130264184128977),
        "uy": (0.32174822259527414, -0.1934548863796939),
        "uz": (0.1019344085255024, 0.014434579259134417),
        "phi01": (0.406465993629671, 0.2144645467723905),
    },
    "vortex with implicit large eddies": {
        "ux": (0.36357399653866546, 0.07113390740816772),
        "uy": (0.369212162667391, -0.4948471560040411),
        "uz": (0.004363260693675891, -0.006019874458298602),
    },
    "vortex by Smagorinsky's model": {
        "ux": (0.36965366664810895, 0.335223019255689),
        "uy": (0.3534965523902415, -0.1891483612712829),
        "uz": (0.06500094191691914, 0.05314488334774326),
        "phi01": (0.4073912241782876, 0.21639647086053532),
    },
    "implicit diffusion": {
        "ux": (0.4279217740285462, 0.3216535500732869),
        "uy": (0.3323278312917735, -0.1790847077372643),
        "uz": (0.07295605832664169, 0.06493320239195924),
        "phi01": (0.36715864107846363, 0.2340902778549842),
    },
    "vortex by WALE": {
        "ux": (0.4056903116583935, 0.34210735141827897),
        "uy": (0.3163875765021721, -0.16502444083299284),
        "uz": (0.07629719284287623, 0.07312168801534828),
        "phi01": (0.3615872037537105, 0.2455023661963531),
        "phi02": (0.36272699243399226, 0.2461289554477749),
    },
    "gravity current": {
        "ux": (0.008020528095626566, 0.015277614064905675),
        "uy": (0.007011457352373738, -0.015839127664920134),
        "uz": (0.0, 0.0),
        "phi01": (0.38285333577975217, 0.6994312205845572),
        "phi02": (0.3300186285679429, 0.5999263070902614),
    },
    "cylinder": {
        "ux": (2.085952416989854, 2.51947449117996),
        "uy": (0.3225980699231837, -0.7791116579860741),
        "uz": (0.0, 0.0),
    },
}


def text(name: str) -> str:
    groups = {key: dict(values) for key, values in GROUPS.items()}
    for key, values in INPUTS[name].items():
        groups[key] = groups.get(key, {}) | values
    groups.setdefault("CASE", {})
    lines = []
    for key, values in groups.items():
        lines += [f"&{key}", *(f"{one} = {value}" for one, value in values.items()), "/End"]
    return "\n".join([*lines, ""])


def fields(model: Model) -> dict[str, np.ndarray]:
    found = {f"u{axis}": np.array(model.flow.velocity(d)) for d, axis in enumerate("xyz")}
    return found | {f"phi{n + 1:02d}": np.array(model.flow.scalar(n)) for n in range(len(model.case.scalar))}


def outside(model: Model) -> np.ndarray:
    """1 where no body is: inside it the velocity means nothing."""
    body = model.case.body
    if body is None or body.centre is None or body.radius is None:
        return np.array(1.0)
    x, y = (np.array(model.grid.coordinates(d)) for d in range(2))
    inside = (x[None, None, :] - body.centre[0]) ** 2 + (y[None, :, None] - body.centre[1]) ** 2 <= body.radius**2
    return np.where(inside, 0.0, 1.0)


def figures(field: np.ndarray, shown: np.ndarray) -> tuple[float, float]:
    """The root of the mean square, and the value at a node about a quarter from each end."""
    nz, ny, nx = field.shape
    return float(np.sqrt(np.mean((field * shown) ** 2))), float((field * shown)[nz // 4, ny // 4, nx // 4])


@pytest.mark.parametrize("name", list(INPUTS))
def test_a_run_from_an_input_is_that_of_xcompact3d(name, tmp_path):
    path = tmp_path / "input.i3d"
    path.write_text(text(name))
    model = Model(read_input(path)[0])
    for _ in range(model.case.time.steps):
        model.advance()
    shown = outside(model)
    found = {field: figures(values, shown) for field, values in fields(model).items()}
    assert set(found) == set(FIGURES[name])
    for field, numbers in FIGURES[name].items():
        assert found[field] == pytest.approx(numbers, rel=1e-9, abs=1e-11), field
