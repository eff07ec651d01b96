"""Another program's stream: `python foreign_stream.py NAME STEPS`, through ADIOS2's own Python package."""

import sys

import adios2
import numpy as np

NX, NY, NZ = 6, 5, 4

name, steps = sys.argv[1], int(sys.argv[2])
adios = adios2.Adios()
io = adios.declare_io("fluid")
io.set_engine("SST")
io.set_parameters({"DataTransport": "WAN", "RendezvousReaderCount": "1", "QueueLimit": "2"})
zeros = np.zeros((NZ, NY, NX))
variables = [io.define_variable(f"u{c}", zeros, [NZ, NY, NX], [0, 0, 0], [NZ, NY, NX]) for c in "xyz"]
engine = io.open(name, adios2.bindings.Mode.Write)
for step in range(steps):
    engine.begin_step()
    fields = [np.full((NZ, NY, NX), float((number + 1) * step)) for number in range(3)]
    for variable, data in zip(variables, fields, strict=True):
        engine.put(variable, data, adios2.bindings.Mode.Sync)
    engine.end_step()
engine.close()
