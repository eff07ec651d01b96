"""Ready-made analyses: `tailrace analyse NAME SOURCE` takes every file of this directory by its name."""
