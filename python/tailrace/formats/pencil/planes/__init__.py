"""Slices and averages of the Pencil Code."""
