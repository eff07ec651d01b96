"""ParaView's Catalyst: pipelines of ParaView that take the steps of a run in its own processes."""
