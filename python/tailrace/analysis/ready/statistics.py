"""Running statistics of the velocity: means and Reynolds stresses over the steps, and over the directions `axes`.

Parameter axes: homogeneous directions, as "xz"; "" keeps the statistics of every point, as fields. All steps have the
same weight. Results come at the end, with the places x, y, z of the directions that are left; the state is kept in
checkpoints.
"""

import tailrace as tr


class FlowStatistics:
    """Means mean_ux ... and stresses <u_i' u_j'>, uu, uv ... ww."""

    def __init__(self, axes=""):
        self.flow = tr.Statistics(("ux", "uy", "uz"), axes=axes)
        self.places = {}

    def start(self, step):
        """Keep the places along the profiles; fields on the whole grid know theirs."""
        if self.flow.axes:
            left = [axis for axis in "xyz" if axis not in self.flow.axes]
            self.places = {axis: step.grid.coordinates["xyz".index(axis)] for axis in left}

    def step(self, step):
        """Add a step."""
        self.flow.update(step.vector("u"))
        return {"samples": self.flow.updates}

    def finish(self):
        """The statistics of all steps."""
        results = dict(self.places)
        results |= {f"mean_{name}": self.flow.mean[name] for name in self.flow.names}
        for i, a in enumerate("uvw"):
            for j, b in enumerate("uvw"):
                if i <= j:
                    results[a + b] = self.flow.reynolds_stress(i, j)
        return results

    def save(self):
        """The state for a checkpoint."""
        return self.flow.save()

    def load(self, state):
        """Continue from the state of a checkpoint."""
        self.flow.load(state)

    def merge(self, other):
        """Add the statistics of other steps."""
        self.flow.merge(other.flow)
