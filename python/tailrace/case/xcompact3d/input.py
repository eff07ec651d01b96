"""Converts the input file of Xcompact3D to a case. Lists what is not possible, and what the case leaves out."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from pathlib import Path

from tailrace.case.case import Case, case_from_document
from tailrace.case.document import ConfigError, Document, Problem, override_key
from tailrace.case.values import MIN_POINTS

from .input_beginning import MIXING_LAYER, TAYLOR_GREEN
from .input_flow import FLOWS, FlowTables, refuse_other_ends
from .namelist import Namelist, fortran

_FLOWS = {
    0: "generic", 1: "gravity current", 2: "Taylor-Green vortex", 3: "channel", 4: "periodic hill", 5: "cylinder",
    7: "mixing layer", 9: "turbulent boundary layer", 10: "atmospheric boundary layer", 11: "uniform", 12: "sandbox",
    13: "cavity", 14: "pipe", 15: "temporal boundary layer",
}  # fmt: skip
_SCHEMES = {1: "euler", 2: "ab2", 3: "ab3", 5: "rk3"}
_INTERPOLATIONS = {1: "classic", 2: "optimised", 3: "aggressive"}

# Models that change the flow: (group, key, name). Tailrace accepts only the values zero and false.
_MODELS = (
    ("BasicParam", "ilmn", "low-Mach-number flow"),
    ("BasicParam", "ifilter", "explicit filtering"),
    ("BasicParam", "iturbine", "turbine models"),
    ("BasicParam", "mhd_active", "magnetohydrodynamics"),
    ("ScalarParam", "sc_skew", "the skew-symmetric form of the convection of scalars"),
)
# Eddy viscosities by LESModel.jles: the model, the key of its constant, and that of Xcompact3D where it is left out.
_EDDY_MODELS = {1: ("smagorinsky", "smagcst", 0.15), 2: ("wale", "walecst", None)}
_DYNAMIC = 3  # larger numbers have no eddy viscosity: their dissipation is that of `isecondder`
# Options that do not change the flow: (group, key, value that turns the option off, what Tailrace does instead).
_ASIDE = (
    ("BasicParam", "init_noise", 0, "the random numbers are others than Xcompact3D's; the vortex has none"),
    ("BasicParam", "inflow_noise", 0, "the inlet has no noise, as in these cases of Xcompact3D 5.0"),
    ("BasicParam", "particle_active", False, "particles are not tracked"),
    ("InOutParam", "nvisu", 1, "snapshots hold every point"),
    ("InOutParam", "output2D", 0, "snapshots are three-dimensional"),
    ("InOutParam", "nprobes", 0, "probes are not recorded"),
    ("InOutParam", "ioutflow", 0, "outflow planes are not stored"),
    ("Statistics", "initstat", None, "statistics are not collected"),
)
# Keys of the groups that every input has, in all versions since 2020. Other keys are probably spelling mistakes.
_KNOWN = {
    "BasicParam": """p_row p_col nx ny nz istret beta xlx yly zlz itype iin re u1 u2 init_noise inflow_noise dt ifirst
        ilast numscalar iibm ilmn ilesmod iscalar nclx1 nclxn ncly1 nclyn nclz1 nclzn ivisu ipost gravx gravy gravz icpg
        icfr cpg idir_stream ifilter c_filter iturbine mhd_active particle_active freestream use_center""",
    "NumOptions": "ifirstder isecondder itimescheme iimplicit nu0nu cnu fpi2 ipinter",
    "InOutParam": """irestart icheckpoint ioutput nvisu ilist iprocessing ninflows ntimesteps inflowpath ioutflow
        output2d nprobes validation_restart log_cputime nlineprobes""",
}
_BEGINNINGS = ("case.flow", "case.from")
_POINTS = ("nx", "ny", "nz")
_LENGTHS = ("xlx", "yly", "zlz")
_CASE_KEYS = {
    "case.reynolds": "BasicParam.re",
    "time.dt": "BasicParam.dt",
    "time.steps": "BasicParam.ilast",
    "parallel.rows": "BasicParam.p_row",
    "parallel.cols": "BasicParam.p_col",
    **{f"grid.points[{at}]": f"BasicParam.{key}" for at, key in enumerate(_POINTS)},
    **{f"grid.lengths[{at}]": f"BasicParam.{key}" for at, key in enumerate(_LENGTHS)},
}


def read_input(path: str | Path, overrides: Sequence[str] = ()) -> tuple[Case, list[str]]:
    """The case that an `input.i3d` describes, and notes about settings that the case leaves out.

    :param overrides: `key=value` pairs with the keys of a Tailrace case, as for `load_case`.
    :raises ConfigError: not a namelist, or a case that Tailrace cannot compute; lists all reasons by namelist key.
    """
    path = Path(path)
    reader = Namelist(path)
    outside = {override_key(override) for override in overrides}
    document = _document(reader)
    notes = _notes(reader, outside)
    if reader.problems:
        raise ConfigError(str(path), reader.problems)
    _rename(document, overrides)
    if outside & set(_BEGINNINGS):  # another beginning takes none of the parameters of the case's own
        document["case"].pop("parameters", None)
    try:
        case = case_from_document(document, source=str(path), directory=path.parent, overrides=overrides)
    except ConfigError as error:
        raise ConfigError(
            error.source,
            [Problem(p.key if p.key in outside else _CASE_KEYS.get(p.key, p.key), p.reason) for p in error.problems],
        ) from None
    return case, notes


def _document(nml: Namelist) -> Document:
    """The case as a document. Values with a problem are left out, because `problems` already has an entry."""
    _check_models(nml)
    points = [nml.whole("BasicParam", key) for key in _POINTS]
    if points[2] == 1:
        nml.reject("BasicParam.nz", f"two-dimensional runs are not supported; use at least {MIN_POINTS} (found 1)")
        points[2] = None
    steps, every = _steps(nml), nml.whole("InOutParam", "ioutput", 0)
    document: Document = {
        "case": {"reynolds": nml.real("BasicParam", "re")},
        "grid": {
            "points": points,
            "lengths": [nml.real("BasicParam", key) for key in _LENGTHS],
        },
        "time": {
            "scheme": nml.choice("NumOptions", "itimescheme", _SCHEMES),
            "dt": nml.real("BasicParam", "dt"),
            "steps": steps,
        },
        "numerics": {"interpolation": nml.choice("NumOptions", "ipinter", _INTERPOLATIONS, 3)},
        "parallel": {"rows": nml.whole("BasicParam", "p_row", 0), "cols": nml.whole("BasicParam", "p_col", 0)},
        "diagnostics": {"every": 10},  # the fixed interval of Xcompact3D, which is not a key of its input
        "checkpoint": {"every": nml.whole("InOutParam", "icheckpoint", 0)},
    }
    if _is_implicit(nml):
        document["numerics"]["implicit_y"] = True
    eddies = _eddy_viscosity(nml)
    if eddies:
        document["numerics"]["eddy_viscosity"] = eddies
    itype = nml.whole("BasicParam", "itype")
    if itype is not None:  # of an unknown one the other problems are found too
        FlowTables(nml, itype if itype in FLOWS else TAYLOR_GREEN).add_to(document)
    if every and every > 0 and nml.whole("BasicParam", "ivisu", 1) != 0:
        fields = ["ux", "uy", "uz", "pressure", "vorticity", "q"]
        fields += [scalar["name"] for scalar in document.get("scalar", [])]
        snapshots = {"name": "snapshots", "fields": fields, "every": every, "engine": "raw", "path": "data"}
        document["output"] = [{**snapshots, "parameters": {"ioutput": every}}]
    return document


def _steps(nml: Namelist) -> int | None:
    first, last = nml.whole("BasicParam", "ifirst", 1), nml.whole("BasicParam", "ilast")
    if first is None or last is None:
        return None
    if last < first:
        nml.reject("BasicParam.ilast", f"must be at least ifirst = {first} (found {last})")
        return None
    # A restarted run begins at a later step. Without its checkpoint, Tailrace computes all steps up to the last one.
    return int(last) if nml.whole("InOutParam", "irestart", 0) else int(last - first + 1)


def _check_models(nml: Namelist) -> None:
    """Add a problem for each model in the file that would change the flow."""
    itype = nml.whole("BasicParam", "itype")
    if itype is not None and itype not in FLOWS:
        known = ", ".join(f"{number} ({name})" for number, name in FLOWS.items())
        nml.reject("BasicParam.itype", f"must be one of {known} (found {itype}, {_FLOWS.get(itype, 'unknown')})")
    for group, key, what in _MODELS:
        value = nml.raw(group, key)
        if any(value) if isinstance(value, list) else value:
            nml.reject(f"{group}.{key}", f"{what} is not supported; set it to 0 (found {fortran(value)})")
    even = nml.raw("ScalarParam", "sc_even")
    if even is False or (isinstance(even, list) and False in even):
        nml.reject("ScalarParam.sc_even", f"scalars are even at free-slip ends; set it to T (found {fortran(even)})")
    for key, choices in (("ifirstder", (4,)), ("isecondder", (4, 5))):
        value = nml.whole("NumOptions", key, 4)
        if value is not None and value not in choices:
            known = "4, the sixth-order compact scheme" + (", or 5, the hyperviscous one" if 5 in choices else "")
            nml.reject(f"NumOptions.{key}", f"must be {known} (found {value})")


def _is_implicit(nml: Namelist) -> bool:
    """Whether diffusion along y is by Crank-Nicolson. Between ends of free slip it is here as there."""
    found = nml.whole("NumOptions", "iimplicit", 0)
    if not found:
        return False
    wanted = {"BasicParam.ncly1": 1, "BasicParam.nclyn": 1, "NumOptions.isecondder": 4, "NumOptions.iimplicit": 2}
    if nml.whole("BasicParam", "numscalar", 0):
        wanted |= {"ScalarParam.nclyS1": 1, "ScalarParam.nclySn": 1}
    given = {key: nml.raw(*key.split(".")) for key in wanted}
    fits = all(given[key] in (value, None) for key, value in wanted.items())
    if fits and nml.raw("NumOptions", "itimescheme") in (2, 3):
        return True
    nml.reject(
        "NumOptions.iimplicit",
        f"must be 0, or 2 with ncly1 = nclyn = 1, isecondder = 4 and itimescheme 2 or 3 (found {found}); set it to 0, "
        "and give numerics.implicit_y = true, whose diffusion is implicit in another way",
    )
    return False


def _eddy_viscosity(nml: Namelist) -> Document | None:
    """The model of a large-eddy simulation, in the form that Xcompact3D computes it in."""
    if not nml.whole("BasicParam", "ilesmod", 0):
        return None
    number = nml.whole("LESModel", "jles")  # which Xcompact3D needs, too
    if number == _DYNAMIC:
        nml.reject("LESModel.jles", "the dynamic Smagorinsky model is not supported; choose 1, 2 or 4 (found 3)")
    if number not in _EDDY_MODELS:
        return None
    model, key, default = _EDDY_MODELS[number]
    constant = nml.real("LESModel", key) if default is None else nml.real("LESModel", key, default)
    if constant is not None and not 0 < constant < math.inf:
        nml.reject(f"LESModel.{key}", f"must be a number greater than 0 (found {constant})")
        constant = None
    if nml.whole("LESModel", "iconserv", 0) != 0:
        nml.reject("LESModel.iconserv", "must be 0, the form that is not conservative")
    if nml.whole("BasicParam", "iibm", 0):
        nml.reject("BasicParam.ilesmod", "an eddy viscosity beside a body is not supported; set it to 0, or iibm")
    if nml.whole("BasicParam", "numscalar", 0):
        refuse_other_ends(nml, "xyz", "an eddy viscosity")
    return {"model": model, "constant": constant, "form": "xcompact3d"}


def _rename(document: Document, overrides: Sequence[str]) -> None:
    """Let the snapshots name a scalar as `--set` does; values that are no names are found later."""
    scalars, outputs = document.get("scalar", []), document.get("output", [])
    for override in overrides:
        place = re.fullmatch(r"scalar\[(\d+)\]\.name", override_key(override))
        if not place or int(place[1]) >= len(scalars):
            continue
        old, new = scalars[int(place[1])]["name"], override.partition("=")[2].strip().strip("'\"")
        for output in outputs:
            output["fields"] = [new if name == old else name for name in output["fields"]]


def _notes(nml: Namelist, outside: set[str]) -> list[str]:
    notes = []
    rests = nml.whole("BasicParam", "itype") in (TAYLOR_GREEN, MIXING_LAYER) and nml.whole("BasicParam", "iin", 0) == 0
    if rests and not outside & set(_BEGINNINGS):
        notes.append("BasicParam.iin = 0: the flow begins at rest; give another beginning by case.flow or case.from")
    notes += ["precision is set when Xcompact3D is built, not in this file: double is taken (numerics.precision)"]
    if nml.raw("InOutParam", "irestart"):
        start = "the run starts from the initial field and goes to step ilast"
        notes.append(f"InOutParam.irestart: Xcompact3D's checkpoint is not read; {start}")
    elif nml.whole("BasicParam", "ifirst", 1) not in (None, 1):
        notes.append("BasicParam.ifirst: steps are counted from 1, as many as ifirst to ilast")
    if nml.raw("InOutParam", "ioutput") and nml.raw("BasicParam", "ivisu") != 0:
        notes.append(
            "snapshots go to data/ under Xcompact3D's own names; number 0 is the "
            "initial field, and critq is the second invariant Q, which the reference of 2025-08 does not write there"
        )
    notes += _flaws(nml)
    model = nml.raw("LESModel", "jles")
    if nml.raw("BasicParam", "ilesmod") and isinstance(model, int) and model not in _EDDY_MODELS:
        adds = "the model is the dissipation that NumOptions.isecondder = 5 adds"
        notes.append(f"LESModel.jles = {model}: no eddy viscosity; {adds}")
    if nml.has("InOutParam", "ilist"):
        notes.append("InOutParam.ilist: progress is shown at Tailrace's own pace")
    for group, key, nothing, instead in _ASIDE:
        if nml.has(group, key) and nml.raw(group, key) != nothing:
            notes.append(f"{group}.{key} = {fortran(nml.raw(group, key))}: {instead}")
    for group, names in _KNOWN.items():
        known = names.split()
        for key in nml.groups.get(group.lower(), {}):
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                notes.append(f"{group}.{key} is not known and ignored" + (f"; did you mean {near[0]}?" if near else ""))
    if (nml.path.parent / "adios2_config.xml").exists():
        notes.append("adios2_config.xml is not read: choose engine = 'bp5' in [[output]] for ADIOS2 files")
    return notes


def _flaws(nml: Namelist) -> list[str]:
    """Where Xcompact3D 5.0 departs from its own equations, and the fields therefore from those here."""
    notes, differs = [], "the fields here are those of the equations, and differ from its"
    ends = [nml.raw("BasicParam", f"ncl{axis}1") for axis in "xyz"]
    stretched, second = nml.raw("BasicParam", "istret"), nml.raw("NumOptions", "isecondder")
    if stretched == 3:
        notes.append(f"BasicParam.istret = 3: Xcompact3D 5.0 leaves a divergence; {differs}")
    elif stretched and nml.raw("NumOptions", "ipinter") == 2 and all(ends):
        notes.append(f"NumOptions.ipinter = 2: Xcompact3D 5.0 leaves a divergence in this stretched box; {differs}")
    if ends[2] == 2 or nml.raw("BasicParam", "nclzn") == 2:
        notes.append(f"BasicParam.nclz1, nclzn = 2: Xcompact3D 5.0 mixes up gradients at these walls; {differs}")
    if second == 5 and _goes_through_free_slip(nml, ends):
        notes.append(
            "NumOptions.isecondder = 5: the first field goes through the free-slip ends, where Xcompact3D's own second "
            "derivative is another in the first step; another length of the box helps"
        )
    return notes


def _goes_through_free_slip(nml: Namelist, ends: Sequence[object]) -> bool:
    """Whether the first field has a velocity through an end of free slip, where there should be none."""
    itype, lengths = nml.raw("BasicParam", "itype"), [nml.raw("BasicParam", key) for key in _LENGTHS]
    free = [
        float(a) if end == 1 and isinstance(a, int | float) and math.isfinite(a) else None
        for a, end in zip(lengths, ends, strict=True)
    ]
    if itype == MIXING_LAYER:
        return free[1] is not None and free[1] < 40  # beyond, it is below 1e-10
    if itype == TAYLOR_GREEN and nml.raw("BasicParam", "iin") == 1:
        return any(a is not None and abs(math.sin(a)) > 1e-6 for a in free[:2])
    return False
