"""Measure checkpoints: write, read, restart on other ranks."""
