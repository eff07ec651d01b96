"""What ranks do with series, and programs that write, read and fail."""
