"""Measure how fast series are written and read."""
