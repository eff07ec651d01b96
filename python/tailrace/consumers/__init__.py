"""Consumers take the steps of a flow: outputs, analyses, the table of averages, checkpoints.

A consumer knows when it wants a step and what it does with it. It does not know where the step comes from: a running
simulation (`simulation.recorder`), a stream or files (`replay.analyse`).

Functions are local unless they say collective.
"""
