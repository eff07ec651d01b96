"""Pictures of steps, drawn by all ranks together: what is shown, from where, and how the parts become one image."""
