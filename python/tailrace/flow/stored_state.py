"""What a state of a flow consists of, by its names in checkpoints, and what a checkpoint tells of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.core import InputError
from tailrace.grids import triple
from tailrace.io.names import COMPONENTS
from tailrace.io.placement import Block

if TYPE_CHECKING:
    from tailrace.case.case import Case

    from .checkpoint import OpenCheckpoint


def blocks_of(flow: Any, case: Case) -> dict[str, Block]:
    """Everything, by name: this rank's blocks, views of the solver's memory. Local.

    Beside the velocity, the scalars and, for Adams-Bashforth schemes, earlier right-hand sides these are the gradients
    of the last pressure at walls, from which the next stage begins; where diffusion along y is implicit, everywhere.
    """
    (x, y, z), _ = flow.box
    shape = triple(case.grid.points)

    def whole(values: Any) -> Block:
        return Block(values, shape, (x, y, z))

    found = {name: whole(flow.velocity(i)) for i, name in enumerate(COMPONENTS)}
    for number, scalar in enumerate(case.scalar):
        found[scalar.name] = whole(flow.scalar(number))
    for age in range(1, flow.history_ages + 1):
        for i, name in enumerate(COMPONENTS):
            found[f"rhs{age}_{name}"] = whole(flow.history(age, i))
        for number, scalar in enumerate(case.scalar):
            found[f"rhs{age}_{scalar.name}"] = whole(flow.scalar_history(number, age))
    if case.numerics.implicit_y:
        for i, name in enumerate(COMPONENTS):
            found[f"rhs_pressure_{name}"] = whole(flow.pressure_gradient(i))
    for d, ends in enumerate(case.grid.ends):
        for upper, word in enumerate(ends):
            if word in ("periodic", "free-slip"):
                continue
            for i, name in enumerate(COMPONENTS):
                if i == d:
                    continue
                values = flow.face(d, bool(upper), i, True)
                flat = triple(1 if other == d else n for other, n in enumerate(shape))
                start = triple(0 if other == d or not values.size else at for other, at in enumerate((x, y, z)))
                found[f"wall_{'xyz'[d]}_{'upper' if upper else 'lower'}_{name}"] = Block(values, flat, start)
    return found


def description_of(case: Case, forcing: str) -> dict[str, Any]:
    """What a checkpoint tells of the case, so that it is resumed by one that fits. Local.

    :param forcing: the name of the body force.
    """
    return {
        "lengths": list(case.grid.lengths),
        "boundaries": ",".join(case.grid.sides),
        **stretching_of(case),
        "scheme": case.time.scheme,
        "precision": case.numerics.precision,
        **({"implicit_y": True} if case.numerics.implicit_y else {}),
        "reynolds": case.case.reynolds,
        "scalars": ",".join(scalar.name for scalar in case.scalar),
        "forcing": forcing,
    }


def about_of(case: Case) -> dict[str, Any]:
    """What an output says about the run, so that it can be analysed without the case. Local."""
    return {
        "name": case.case.name,
        "reynolds": case.case.reynolds,
        **({} if case.time.dt == "auto" else {"dt": case.time.dt}),  # else no number is that of all steps
        "lengths": list(case.grid.lengths),
        "boundaries": ",".join(case.grid.sides),
        **stretching_of(case),
        **{f"{scalar.name}/parity": [1, 1, 1] for scalar in case.scalar},
        **{f"{scalar.name}/schmidt": scalar.schmidt for scalar in case.scalar},
        "interpolation": case.numerics.interpolation,
        **({} if case.body is None else {"body": case.body.shape}),
    }


def stretching_of(case: Case) -> dict[str, Any]:
    """The attributes of a stretched grid; none of a uniform one. Local."""
    grid = case.grid
    return {} if grid.stretching is None else {"stretching": grid.stretching, "beta": grid.beta}


def check_fits(case: Case, checkpoint: OpenCheckpoint) -> None:
    """Check that a checkpoint has the arrays that this case needs. Local.

    :raises InputError: the grid, the scheme, the precision or the scalars are others.
    """
    told = checkpoint.about
    ours = description_of(case, "")
    for key, mine, theirs in (
        ("grid.points", tuple(case.grid.points), checkpoint.shape()),
        ("grid.lengths", tuple(case.grid.lengths), tuple(told["lengths"])),
        ("grid.boundaries", ours["boundaries"], told["boundaries"]),
        ("grid.stretching", ours.get("stretching", "none"), told.get("stretching", "none")),
        ("grid.beta", ours.get("beta"), told.get("beta")),
        ("scalar", ours["scalars"], told.get("scalars", "")),
        ("time.scheme", case.time.scheme, told["scheme"]),
        ("numerics.precision", case.numerics.precision, told["precision"]),
        ("numerics.implicit_y", case.numerics.implicit_y, bool(told.get("implicit_y", False))),
    ):
        if mine != theirs:
            raise InputError(
                f"checkpoint {checkpoint.path} was written with {key} = {theirs}, the case says {mine}; resume "
                "with the case it was written by, or start again without --resume"
            )
