"""The parameters of the solver, from a case. All is local."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.core import FlowOptions, Grid, ScalarOptions

from .body import Cylinder, Shape, Sphere

if TYPE_CHECKING:
    from tailrace.case.case import Case
    from tailrace.case.sections.grid_section import GridSection
    from tailrace.case.sections.scalar_section import ScalarSection

_KINDS = {"deposit": "no-flux", "outflow": "convected", "free": "free"}  # of ends where the schemes are Dirichlet ones


def grid_of(section: GridSection) -> Grid:
    """The grid of a case.

    :raises InputError: the schemes need more nodes.
    """
    return Grid(section.points, section.lengths, section.sides, section.stretching or "", section.beta or 0.0)


def options_of(case: Case) -> FlowOptions:
    """What the solver needs besides the grid.

    :raises InputError: the numbers of the hyperviscosity have no scheme.
    """
    options = FlowOptions(case.viscosity, case.time.scheme, case.numerics.interpolation)
    if case.numerics.hyperviscosity is not None:
        more = case.numerics.hyperviscosity
        for name in more.directions:
            options.set_hyperviscosity("xyz".index(name), more.at_cutoff, more.middle)
    options.implicit_y = case.numerics.implicit_y
    options.set_wall_divergence(case.numerics.wall_divergence)
    eddies = case.numerics.eddy_viscosity
    if eddies is not None:
        options.set_eddy_model(eddies.model, eddies.model_constant, eddies.turbulent_schmidt, eddies.form)
    forcing = case.forcing
    if forcing.flow_rate is not None:
        options.set_flow_rate("xyz".index(forcing.direction), forcing.flow_rate)
    options.acceleration = forcing.acceleration
    options.coriolis = forcing.coriolis
    options.linear = forcing.linear
    for scalar in case.scalar:
        options.add_scalar(_scalar_of(scalar, case))
    return options


def shape_of(case: Case) -> Shape:
    """The shape of the body of a case that has one.

    :raises ConfigError: the file of a function fails when it is loaded.
    """
    body = case.body
    assert body is not None
    if body.shape not in ("cylinder", "sphere"):
        found: Shape = case.function("body.shape", body.shape)
        return found
    assert body.centre is not None and body.radius is not None  # `BodySection` sees to it
    if body.shape == "cylinder":
        return Cylinder((body.centre[0], body.centre[1]), body.radius, body.axis)
    return Sphere((body.centre[0], body.centre[1], body.centre[2]), body.radius)


def _scalar_of(scalar: ScalarSection, case: Case) -> ScalarOptions:
    ends = tuple(
        tuple(_KINDS.get(str(end), "given") for end in of_direction) for of_direction in scalar.ends(case.grid)
    )
    least, most = scalar.limits or (None, None)
    return ScalarOptions(
        case.viscosity / scalar.schmidt,
        scalar.sides(case.grid),
        ends,
        scalar.buoyancy,
        scalar.settling,
        least,
        most,
        scalar.deposit_distance or 0.0,
    )
