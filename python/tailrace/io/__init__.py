"""Series: opened, written and read by whichever engine; time series; coupling.

Functions are local unless they say collective.
"""
