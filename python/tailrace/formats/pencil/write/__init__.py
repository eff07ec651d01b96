"""Write data directories of the Pencil Code."""
