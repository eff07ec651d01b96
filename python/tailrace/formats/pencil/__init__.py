"""Data directories of the Pencil Code: snapshots of its five output strategies, averages, slices, particles."""
