"""Files of this program: written whole or not at all, locked, marked as ours, renamed before they are replaced.

Functions are local unless they say collective.
"""
