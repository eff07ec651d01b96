"""The commands of `tailrace bench`."""
