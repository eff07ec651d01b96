"""Start the ranks of a bench, let them take turns, time them, and collect their events."""
