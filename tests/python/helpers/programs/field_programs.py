"""What tests/python/fields/test_ranks.py runs on its ranks: every operator on every process grid, and alone."""

from __future__ import annotations

from typing import Any

import numpy as np

import tailrace as tr
from helpers.inputs.fields import LENGTHS, MIXED, PERIODIC, noisy_field, noisy_vector

Results = dict[str, Any]


STRETCHED = {"stretching": "walls", "beta": 0.4}


def compare(comm: Any, nodes: list[int], periodic: bool, single: bool, stretched: bool = False) -> int:
    """The results on all process grids equal those of one rank; returns how many results there were."""
    kinds = ("periodic", "dirichlet|free-slip", "periodic") if stretched else PERIODIC if periodic else MIXED
    kinds = tuple("periodic" if count == 1 else kind for kind, count in zip(kinds, nodes, strict=True))
    more: Any = STRETCHED if stretched else {}
    dtype = np.float32 if single else np.float64
    expected = everything(tr.Operators(nodes, LENGTHS, kinds, dtype=dtype, **more))
    for rows in range(1, comm.size + 1):
        if comm.size % rows:
            continue
        ops = tr.Operators(nodes, LENGTHS, kinds, comm=comm, rows=rows, cols=comm.size // rows, dtype=dtype, **more)
        found = everything(ops)
        assert list(found) == list(expected)
        for name, value in found.items():
            _same(name, rows, value, expected[name], 1e-5 if single and name.startswith("scheme") else 1e-12)
    return len(expected)


def _same(name: str, rows: int, value: Any, expected: Any, near: float) -> None:
    if isinstance(value, tr.Field):
        part = tuple(slice(s, s + n) for s, n in zip(value.start, value.shape, strict=True))
        scale = abs(expected.data).max()
        value, expected = value.data, expected.data[part]
    else:
        value, expected = np.asarray(value), np.asarray(expected)
        scale = abs(expected).max() if expected.size else 1
    assert value.shape == expected.shape, (name, rows)
    assert value.dtype == expected.dtype, (name, rows)
    error = abs(value - expected).max() if value.size else 0
    assert error <= near * scale, (name, rows, error, scale)


def everything(ops: Any) -> Results:
    """All operators of fields, as arrays that every rank has or as fields."""
    f, g, v = noisy_field(ops, 1), noisy_field(ops, 2), noisy_vector(ops)
    results: Results = {}
    if set(ops.grid.boundaries) == {"periodic"}:
        for name, one in (("scalar", f), ("vector", v)):
            found = tr.spectrum(one)
            results |= {f"shells {name}": found.energy, f"modes {name}": found.modes}
    for d, axis in enumerate("xyz"):
        if ops.grid.boundaries[d] == "periodic":
            results[f"line {axis}"] = tr.spectrum_1d(f, axis).energy
        if axis != "y" or not ops.grid.stretching:
            for name, one in (("auto", None), ("cross", g)):
                results[f"{name} {axis}"] = tr.correlation(f, axis, one).values
            results[f"normalised {axis}"] = tr.correlation(f, axis, g, normalise=True).values
        results[f"plane {axis}"] = tr.plane(f, axis, min(3, ops.shape()[d] - 1))
        results[f"plane at {axis}"] = tr.plane(f, axis, position=0.31)
        results[f"line at {axis}"] = tr.line(f, axis, position=(0.7, 1.1))
        results[f"scheme filter {axis}"] = tr.filter(f, axis)
        centred = tr.interpolate(f, axis, "centre")
        results[f"scheme centre {axis}"] = centred
        results[f"scheme node {axis}"] = tr.interpolate(centred, axis, "node")
        rest = "xyz".replace(axis, "")
        results[f"about {axis}"] = f - tr.spread(f.mean(rest), f, axis)
        results[f"about {rest}"] = f - tr.spread(f.mean(axis), f, rest)
    results |= _sampled(ops, f, v)
    found, joint = tr.histogram(f, 20), tr.joint_histogram(f, g, (4, 5))
    results |= {"edges": found.edges, "density": found.density, "joint": joint.density}
    for name, function in (("q", tr.q_criterion), ("lambda2", tr.lambda2), ("third", tr.third_invariant)):
        results[f"scheme {name}"] = function(v)
    for axes in ("", "y", "xz", "xyz"):
        statistics = tr.Statistics(axes=axes)
        statistics.update(v)
        statistics.update(v * 0.25 + v.cross(v * v[0]) + tr.Vector(f, g, f), 0.5)
        for key, value in statistics.save().items():
            results[f"statistics {axes} {key}"] = value
        results[f"stress {axes}"] = statistics.reynolds_stress("x", "y")
    return results


def _sampled(ops: Any, f: Any, v: Any) -> Results:
    points = np.random.default_rng(9).uniform(0, 1, (50, 3)) * LENGTHS
    points[:8] = [[(n >> d & 1) * LENGTHS[d] for d in range(3)] for n in range(8)]
    centred = noisy_field(ops, 3, (False, True, True))
    return {
        "probes": tr.Probes(points)(f),
        "probes of a vector": tr.Probes(points)(v),
        "probes on centres": tr.Probes(points)(centred),
        "plane of centres": tr.plane(centred, "z", min(2, ops.shape()[2] - 1)),
        "correlation of centres": tr.correlation(centred, "x").values,
    }


def shape(comm: Any, nodes: list[int]) -> list[int]:
    """The shape of this rank's arrays where the process grid is not given."""
    return list(tr.Operators(nodes, LENGTHS, PERIODIC, comm=comm).local_shape())


def wrong(comm: Any) -> list[str]:
    """The error on each rank where it, or another one, asks for something impossible."""
    ops = tr.Operators((12, 10, 15), LENGTHS, MIXED, comm=comm)
    f = noisy_field(ops, 1)
    last = comm.rank == comm.size - 1
    texts = []
    for call in (
        lambda: tr.Probes([(0.1, 0.1, 0.1 + 0.1 * comm.rank)])(f),
        lambda: tr.Probes(np.zeros((comm.rank, 3)))(f),
        lambda: tr.Probes([(0.1, 0.1, 1.6)])(f),
        lambda: tr.plane(f, "z", 99 if last else 3),
        lambda: tr.Statistics(("a",), "xz").update({"b" if last else "a": f}),
    ):
        try:
            call()
            texts.append("")
        except tr.InputError as error:
            texts.append(str(error))
    comm.barrier()
    return texts


def process_grids(size: int) -> list[dict[str, int]]:
    """All ways to arrange the ranks in rows and columns."""
    return [{"rows": rows, "cols": size // rows} for rows in range(1, size + 1) if size % rows == 0]


def same_bits_as_alone(comm: Any, nodes: list[int], kinds: list[str]) -> None:
    """Derivatives and integrals on every process grid have the bits of those on one rank."""
    values = np.random.default_rng(3).standard_normal(nodes[::-1])
    alone = tr.Operators(nodes, LENGTHS, kinds)
    for grid in process_grids(comm.size):
        ops = tr.Operators(nodes, LENGTHS, kinds, comm=comm, **grid)
        (i, j, k), (nx, ny, nz) = ops.box()
        cut = np.s_[k : k + nz, j : j + ny, i : i + nx]
        for d, name in enumerate(("ddx", "ddy", "ddz")):
            for whole, part in (
                (getattr(alone, name)(values), getattr(ops, name)(values[cut])),
                (alone.second(values, d, "odd"), ops.second(values[cut], d, "odd")),
            ):
                assert (part == whole[cut]).all(), (kinds, grid, name, abs(part - whole[cut]).max())
        assert ops.integral(values[cut]) == alone.integral(values), (kinds, grid)
        single = values.astype(np.float32)
        pairs = [(single, single[::-1]), (single, single)]
        parts = [(np.ascontiguousarray(a[cut]), np.ascontiguousarray(b[cut])) for a, b in pairs]
        whole_pairs = [(a, np.ascontiguousarray(b)) for a, b in pairs]
        assert ops.integral_of_products(parts) == alone.integral_of_products(whole_pairs), (kinds, grid)


def numbers_of_fields(comm: Any, kinds: list[str]) -> list[float] | None:
    """Reductions of fields and of what is derived from them, on rank 0; the same on every process grid."""
    whole = np.random.default_rng(5).standard_normal((3, 14, 12, 17))
    known: list[float] = []
    for grid in process_grids(comm.size):
        for transpose in ("auto", "alltoall"):
            ops = tr.Operators((17, 12, 14), LENGTHS, kinds, comm=comm, transpose=transpose, **grid)
            (i, j, k), (nx, ny, nz) = ops.box()
            part = whole[:, k : k + nz, j : j + ny, i : i + nx]
            numbers = _numbers(tr.Vector.from_function(ops, lambda x, y, z, part=part: part))
            if comm.rank == 0:
                known = known or numbers
                assert np.allclose(numbers, known, rtol=1e-12, atol=1e-12), (kinds, grid, transpose)
    return known if comm.rank == 0 else None


def _numbers(u: Any) -> list[float]:
    w = tr.curl(u)
    p = np.cos(u[0]) * (u @ u)
    numbers = [tr.mean(w @ w), tr.max(tr.div(u)), tr.laplacian(p).std(), tr.integral(p), tr.min(p), p.sum()]
    numbers += [tr.strain(u).contract(tr.rotation(u)).max(), *p.mean("xz"), *p.mean("y")[2], *u.mean()]
    back = (w[1] * 1).gather()
    return [float(one) for one in (numbers if back is None else [*numbers, *back[3, 5], np.abs(back).sum()])]
