"""Profiles over y: the mean velocity and dye, and the flux of dye by the fluctuations, averaged over time."""

import tailrace as tr


class Moments:
    def __init__(self, *, start=0.0):
        self.begin, self.count, self.sums = start, 0, {}

    def step(self, step):
        if step.time < self.begin:
            return None
        u, v, dye = step["ux"], step["uy"], step["dye"]
        numbers = {"u": tr.mean(u, "xz"), "dye": tr.mean(dye, "xz"), "flux": tr.mean(v * dye, "xz")}
        for name, values in numbers.items():
            self.sums[name] = self.sums.get(name, 0.0) + values
        self.count += 1
        return {"y": step.grid.coordinates[1], **{name: values / self.count for name, values in self.sums.items()}}

    def save(self):
        return {"count": self.count, **{f"sum_{name}": values for name, values in self.sums.items()}}

    def load(self, state):
        self.count = state["count"]
        self.sums = {name[4:]: values for name, values in state.items() if name != "count"}
