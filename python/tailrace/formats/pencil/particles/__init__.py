"""Particles and stalkers of the Pencil Code."""
