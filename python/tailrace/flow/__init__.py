"""The flow: initial fields and checkpoints."""
