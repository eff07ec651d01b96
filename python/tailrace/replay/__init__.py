"""Give the steps of a series, on disk or from a stream, to consumers: `tailrace analyse`, beside a run and after it.

Functions are local unless they say collective.
"""
