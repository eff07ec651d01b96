"""Tries to write a step into a series that another program may be writing. Arguments: path, mode, engine."""

from __future__ import annotations

import sys

import numpy as np

import tailrace as tr

REFUSED = 7  # the exit code


def main(path: str, mode: str, engine: str) -> None:
    try:
        with tr.open(path, mode, engine=engine) as out:
            out.write_step(9.0, index=9, f=np.full((4, 3, 5), 9.0))
    except tr.IoError as error:
        print(error)
        sys.exit(REFUSED)


if __name__ == "__main__":
    main(*sys.argv[1:])
