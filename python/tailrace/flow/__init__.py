"""The flow: the model, its initial fields, its checkpoints."""
