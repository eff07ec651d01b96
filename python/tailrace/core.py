"""The only door to the compiled module: what it has is imported from here.

Use the names of the package itself; these have no defaults and few checks.
"""

import os

# Open MPI's MPI-IO would end the program on paths of more than 244 characters, for shared file pointers, which nothing
# here uses: it puts the name of a file for them into 256 characters.
os.environ.setdefault("OMPI_MCA_sharedfp", "^lockedfile")
try:
    from ._core import *  # noqa: F403
except ImportError as error:
    if "libmpi" not in str(error):
        raise
    raise ImportError(
        f"{error}. It is the MPI library that Tailrace was built with (libmpi.so.40: Open MPI; libmpi.so.12, libmpich: "
        "MPICH). To fix this, install it (Debian: openmpi-bin), load its module, or build Tailrace with another MPI"
    ) from None
