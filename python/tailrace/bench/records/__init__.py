"""What a bench stores, and what can be said of it."""
