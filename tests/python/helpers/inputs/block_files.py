"""Files of Athena++ and FLASH, whose arrays are in blocks; written with h5py as the programs do."""

import h5py
import numpy as np

BLOCKS, SIZE = (3, 2, 1), (4, 2, 5)  # in x, y, z
POINTS = tuple(n * m for n, m in zip(BLOCKS, SIZE, strict=True))


def whole(salt):
    return np.arange(float(np.prod(POINTS))).reshape(POINTS[::-1]) + 1000.0 * salt


def places(seed=3):
    """The blocks in an order that is not theirs."""
    found = [(i, j, k) for k in range(BLOCKS[2]) for j in range(BLOCKS[1]) for i in range(BLOCKS[0])]
    return [found[at] for at in np.random.default_rng(seed).permutation(len(found))]


def block(values, place):
    x, y, z = (slice(n * m, (n + 1) * m) for n, m in zip(place, SIZE, strict=True))
    return values[z, y, x]


def athena(path, level=0, dtype=">f4"):
    order = places()
    along = [np.linspace(0, 1, n) ** 2 for n in POINTS]
    with h5py.File(path, "w") as file:
        file.attrs.update({"NumCycles": np.int32(120), "Time": np.float32(2.5), "MeshBlockSize": np.array(SIZE, "i4")})
        file.attrs["DatasetNames"] = np.array(["prim", "B"], "S21")
        file.attrs["VariableNames"] = np.array(["rho", "press", "Bcc1"], "S21")
        file.attrs["NumVariables"] = np.array([2, 1], "i4")
        file.attrs["Coordinates"] = np.bytes_("cartesian")
        file["Levels"] = np.full(len(order), level, "i4")
        file["LogicalLocations"] = np.array(order, "i8") + 7
        file["prim"] = np.array([[block(whole(salt), one) for one in order] for salt in (0, 1)]).astype(dtype)
        file["B"] = np.array([[block(whole(2), one) for one in order]]).astype(dtype)
        for d in range(3):
            file[f"x{d + 1}v"] = np.array([along[d][one[d] * SIZE[d] : (one[d] + 1) * SIZE[d]] for one in order])
    return along


def flash(path, parents=True):
    """Also with blocks above the leaves, which the file has too."""
    order = places(5)
    length = np.array([0.5, 1.0, 2.0])
    with h5py.File(path, "w") as file:
        count = len(order) + parents
        file["unknown names"] = np.array([["dens"], ["velx"]], "S4")
        file["refine level"] = np.array(([1] if parents else []) + [2] * len(order), "i4")
        file["node type"] = np.array(([2] if parents else []) + [1] * len(order), "i4")
        file["block size"] = (
            np.tile(length, (count, 1)) * np.array(([2] if parents else []) + [1] * len(order))[:, None]
        )
        centres = [(np.array(one) + 0.5) * length - 1.0 for one in order]
        file["coordinates"] = np.array(([np.zeros(3)] if parents else []) + centres)
        pairs = np.dtype([("name", "S80"), ("value", "f8")])
        file["real scalars"] = np.array([(b"time".ljust(80), 0.75), (b"dt".ljust(80), 0.01)], pairs)
        pairs = np.dtype([("name", "S80"), ("value", "i4")])
        file["integer scalars"] = np.array([(b"nstep".ljust(80), 42)], pairs)
        for salt, name in enumerate(("dens", "velx")):
            blocks = [block(whole(salt), one) for one in order]
            file[name] = np.array(([np.full(SIZE[::-1], -1.0)] if parents else []) + blocks)
    return length
