"""Measure the solver, the operators of an analysis and transposes."""
