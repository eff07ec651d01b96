"""The file formats of other codes: their inputs, histories and snapshots.

Functions are local unless they say collective, here and in the packages below. Functions that read raise IoError for
a file that is damaged, incomplete or gone.
"""
