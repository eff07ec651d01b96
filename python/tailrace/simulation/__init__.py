"""A running simulation: its steps, and what is written, measured and told on the way.

Functions are local unless they say collective.
"""
