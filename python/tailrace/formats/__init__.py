"""The file formats of other codes: their inputs, histories and snapshots."""
