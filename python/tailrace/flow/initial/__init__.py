"""How a flow begins: what cases name, what users give, and what is random."""
