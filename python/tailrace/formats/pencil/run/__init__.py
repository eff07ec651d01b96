"""The common data of a run directory of the Pencil Code: sizes, grid, parameters."""
