"""What a run directory of the Pencil Code says of all its files: sizes, grid, parameters."""
