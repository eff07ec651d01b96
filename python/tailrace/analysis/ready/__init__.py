"""Ready-made analyses: `tailrace analyse NAME SOURCE` takes any file of this directory by its name."""
