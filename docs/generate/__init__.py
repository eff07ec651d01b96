"""Pages of the reference that are made from the sources, and formulas as MathML."""
