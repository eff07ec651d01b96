"""Fields on grids: what they hold, the operators on them, and what is measured on them."""
