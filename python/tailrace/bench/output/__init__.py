"""Measure what output costs a running simulation."""
