"""Enstrophy, <w . w> / 2 with the vorticity w: its volume average."""

import tailrace as tr


def analyse(step):
    """A number per step."""
    return {"enstrophy": 0.5 * tr.mean_square(tr.curl(step.vector("u")))}
