"""Records of Fortran and the frames of a snapshot file."""
