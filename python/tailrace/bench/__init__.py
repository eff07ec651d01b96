"""Measure input, output and computation on this machine, and say which way of writing to choose.

`records` and `results` are what a benchmark stores, `summary` what can be said of it.
"""
