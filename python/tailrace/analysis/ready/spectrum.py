"""The energy spectrum of the velocity over shells of wave numbers, on periodic grids; see `tr.spectrum`.

k is the array of wave numbers, energy that of the kinetic energy in each shell: their sum is <u . u> / 2.
"""

import tailrace as tr


def analyse(step):
    """Two arrays per step, and the sum of the second."""
    found = tr.spectrum(step.vector("u"))
    return {"k": found.k, "energy": found.energy, "kinetic_energy": found.energy.sum()}
