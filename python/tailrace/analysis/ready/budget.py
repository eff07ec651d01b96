"""The budget of kinetic energy: volume averages, in units of the velocity and length scales; needs the viscosity nu.

kinetic_energy = <u . u> / 2; dissipation = 2 nu <S_ij S_ij>, S the rate of strain; dissipation_laplacian =
-nu <u . lap u> without the nodes whose velocity is given, which follows -d(kinetic_energy)/dt even where the flow is
under-resolved; enstrophy = <w . w> / 2.
What hyperviscosity and eddy viscosities take is in the time series of the run only, in its column of the third name.
"""

import numpy as np

import tailrace as tr


def _free(field):
    """The field with zeros at the ends where the velocity is given: diffusion changes nothing there."""
    (first, count), nodes = field.operators.box(), field.operators.grid.nodes
    for d, kind in enumerate(field.operators.grid.boundaries):
        lower, _, upper = kind.partition("|")
        along = np.moveaxis(field.data, 2 - d, 0)
        if lower == "dirichlet" and first[d] == 0:
            along[:1] = 0
        if (upper or lower) == "dirichlet" and first[d] + count[d] == nodes[d]:
            along[-1:] = 0
    return field


def analyse(step):
    """Four numbers per step."""
    u, nu = step.vector("u"), step.viscosity
    s, w = tr.strain(u), tr.curl(u)
    return {
        "kinetic_energy": 0.5 * tr.mean_square(u),
        "dissipation": 2 * nu * tr.mean(s.contract(s)),
        "dissipation_laplacian": -nu * tr.mean(_free(u @ tr.laplacian(u))),
        "enstrophy": 0.5 * tr.mean_square(w),
    }
