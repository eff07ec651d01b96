"""Steps of a series, on disk or from a stream, given to consumers: `tailrace analyse`, beside a run and after it.

Functions are local unless they say collective.
"""
