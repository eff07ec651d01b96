"""Steps and series as users see them: fields on their grid, from files, streams and running simulations."""
