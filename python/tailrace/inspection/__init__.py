"""What a series on disk contains, and whether it is sound: `tailrace info` and `tailrace verify`.

Functions are local unless they say collective.
"""
