"""Draws pictures of results."""
