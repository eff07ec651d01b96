"""Measure input, output and computation on this machine, and say which way of writing to choose.

`records` and `results` are what a benchmark stores, `summary` what can be said of it. `advice` chooses from
measurements, `forecast` from the `model` of writing on a machine, which has a `profile`; `fit` finds one.
"""
