"""Convert a series, or files of another program, into a series or into files of another program.

Functions are local unless they say collective.
"""
