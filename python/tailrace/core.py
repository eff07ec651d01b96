"""The only door to the compiled module: what it has is imported from here.

Use the names of the package itself; these have no defaults and few checks.
"""

try:
    from ._core import *  # noqa: F403
except ImportError as error:
    if "libmpi" not in str(error):
        raise
    raise ImportError(
        f"{error}. It is the MPI library that Tailrace was built with (libmpi.so.40: Open MPI; libmpi.so.12, libmpich: "
        "MPICH). To fix this, install it (Debian: openmpi-bin), load its module, or build Tailrace with another MPI"
    ) from None
