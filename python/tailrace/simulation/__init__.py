"""A running simulation: its steps, and everything that it writes, measures and prints.

Functions are local unless they say collective.
"""
