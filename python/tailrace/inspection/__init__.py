"""The contents of a series on disk, and its damage: `tailrace info` and `tailrace verify`.

Functions are local unless they say collective.
"""
