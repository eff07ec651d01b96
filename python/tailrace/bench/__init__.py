"""Measure input, output and computation on this machine, and advise which way of writing to choose.

A `bench` is a command of `tailrace bench`: its fields are the options, and it makes jobs. `benches` is the table.

- `io`, `checkpoint`, `couple`, `output` (overlap, steps, memory), `compute` (transpose, solver, analysis): the benches,
  each with its settings and its rank program, which is what its jobs do on their ranks.
- `ranks`: the parts of rank programs, and their start. `round_robin` lets variants take turns, `rounds` does so with
  files, `timing` and `noise` measure. `session` runs jobs with the `driver`, which receives their `events`.
- `records`: what is stored (`records`, `results`), and its statistics (`summary`).
- `report`: the page and the tables. `imported`: results of IOR, benchio and Darshan as records.
- `advise`: `advice` from measurements, `forecast` from the `model` of writing on a machine, which has a `profile`.

Functions are local unless they say collective, here and in the packages below.
"""
