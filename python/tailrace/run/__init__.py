"""A run: the simulation, its outputs, its analyses and its progress."""
