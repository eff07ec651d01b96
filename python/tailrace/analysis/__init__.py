"""Analyses: Python functions of a step, run inside a simulation, beside it on a stream, or after it from files.

`script` loads them, `script_runner` calls them on all ranks together, `results` stores what they return, `state` their
state in checkpoints. `consumers.analysis` runs them inside a simulation, `replay` beside it and after it.

Functions are local unless they say collective, here and in the packages below.
"""
