"""Analyses: Python functions of a step, run inside a simulation, beside it on a stream, or after it from files.

`script` loads them, `step` is what they get, `source` where it comes from, `results` where what they return goes;
`script_runner` calls them on all ranks together. `after` is `tailrace analyse`; analyses inside a run are in
`run.inline_analyses`.

Functions are local unless they say collective, here and in the packages below.
"""
