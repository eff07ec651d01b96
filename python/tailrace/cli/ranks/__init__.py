"""Start ranks of MPI, also two jobs beside each other, and find lost ranks."""
