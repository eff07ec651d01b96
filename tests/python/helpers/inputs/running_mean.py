"""An analysis that keeps every kind of state, and looks at what it loads."""

import numpy as np

import tailrace as tr


class Running:
    def __init__(self, weight=0.5):
        self.weight = weight

    def start(self, step):
        self.count, self.mean, self.label, self.last = 0, step["ux"] * 0.0, "begun", step["uz"]
        self.steps, self.flags, self.empty = np.zeros(0, np.int64), np.zeros((2, 3), np.bool_), np.zeros((0, 4))

    def step(self, step):
        self.count += 1
        self.mean = self.mean * (1 - self.weight) + step["ux"] * self.weight
        self.steps, self.last = np.append(self.steps, step.index), step["uz"]
        self.flags[0, 1] = True
        return {"mean": self.mean, "energy": tr.mean(self.mean * self.mean), "count": self.count}

    def save(self):
        return {
            "count": self.count,
            "mean": self.mean,
            "label": self.label,
            "steps": self.steps,
            "weird/key": [1.5, float("nan")],
            "flags": self.flags,
            "empty": self.empty,
            "last": self.last,
        }

    def load(self, state):
        assert state["mean"].parity == (1, 1, 1) and np.isnan(state["weird/key"][1])
        assert state["last"].parity == (1, 1, -1), "it changes its sign at the walls in z"
        assert state["empty"].shape == (0, 4) and state["flags"].dtype == bool
        assert state["flags"].tolist() == [[False, True, False], [False] * 3]
        self.count, self.mean, self.label = state["count"], state["mean"], state["label"] + ", loaded"
        self.steps, self.flags, self.empty = state["steps"], state["flags"], state["empty"]
        self.last = state["last"]

    def finish(self):
        print("steps", self.steps.tolist(), self.label)
        return {"mean": self.mean}
