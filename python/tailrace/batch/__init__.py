"""Scripts for batch systems: written for a case, and checked."""
