"""What a run measures beside the volume averages of every flow."""
