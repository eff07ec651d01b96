"""The records of a bench, and their statistics."""
