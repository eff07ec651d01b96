"""Snapshots of the Pencil Code, as Fortran and as HDF5 files."""
