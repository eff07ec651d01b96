"""Start ranks of MPI, beside each other too, and say what happened to those that were lost."""
