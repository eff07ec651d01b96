"""Analyses: Python functions of a step, run inside a simulation, beside it on a stream, or after it from files.

`script` finds and loads them, `step` is what they get, `source` where it comes from, `results` where what they return
goes; `runner` calls them on all ranks together. `inside`, `after` and `beside` are the three places.
"""
