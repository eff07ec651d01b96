"""Measure a stream between a producer and a consumer."""
