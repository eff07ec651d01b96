"""Which way of writing to choose: from measurements, or from a model of the machine."""
