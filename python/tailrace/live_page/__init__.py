"""The live page: a run, a series or a table in a browser."""
