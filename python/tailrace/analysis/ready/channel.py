"""Statistics of a flow between walls, over the two periodic directions and time; needs the viscosity nu.

Results are in the axes of the flow: x and u along the stream, y and v away from the wall, z and w across; y is the
distance from the wall. Means mean_u ... mean_p, covariances uu = <u'u'>, uv ... pp; for a scalar phi mean_phi, phi_phi,
u_phi ...; in wall units, by u_tau and nu, with the ending _plus. They come at the end. At each step come numbers:
u_tau = sqrt(nu dU/dy) at the walls, re_tau = u_tau h / nu with half the height h, and stress_deviation: the distance of
the total stress nu dU/dy - <u'v'> from its straight line, over u_tau^2. It falls to zero as the means converge.

Parameters: start, the time to begin at; stream, "x", "y" or "z" (where the mean flow is largest); symmetry, "on" to
average both halves of the channel, or "off" ("auto": on where the profiles are close to their mirror images);
vorticity = false saves its derivatives; profiles_every, a time after which profiles are stored before the end, too.

The weight of a step is the time since the step before; the first step has the weight of the second.
"""

import math

import numpy as np

import tailrace as tr

_OURS = ("ux", "uy", "uz", "pressure", "vorticity", "vorticity_x", "vorticity_y", "vorticity_z", "q")
_NEAR = 0.1  # largest distance of a mean profile from its mirror image, as a share of its range
_SAME = 1e-3  # values at walls are equal up to this share of the range; a step leaves those of scalars a little off


class Channel:
    """The means and covariances so far, of every plane along the walls."""

    def __init__(
        self,
        start: float = 0.0,
        stream: str = "auto",
        symmetry: str = "auto",
        vorticity: bool = True,
        profiles_every: float = 0.0,
    ):
        if symmetry not in ("auto", "on", "off"):
            raise tr.InputError(f"symmetry must be 'auto', 'on' or 'off' (found {symmetry!r})")
        if not (math.isfinite(start) and 0 <= profiles_every < math.inf):
            raise tr.InputError(f"times must be finite: start = {start}, profiles_every = {profiles_every}")
        self.begin, self.stream, self.symmetry = start, stream, symmetry
        self.vorticity, self.profiles_every = vorticity, profiles_every
        self.last = self.stored = math.nan  # the times of the last step and of the last profiles

    def start(self, step):
        """Find the walls and the fields to average."""
        bounds = list(step.grid.boundaries)
        across = [d for d in range(3) if bounds[d] != "periodic"]
        if len(across) != 1:
            raise tr.InputError(
                "channel: the flow is between walls in one direction and periodic in the two others; its boundaries "
                f"are {', '.join(bounds)}"
            )
        self.across = across[0]
        self.axes = "xyz".replace("xyz"[self.across], "")
        if self.stream not in ("auto", *self.axes):
            raise tr.InputError(f"channel: stream must be 'auto', '{self.axes[0]}' or '{self.axes[1]}' "
                                f"(found {self.stream!r})")  # fmt: skip
        self.wall = _Wall(step.operators.grid, self.across)
        if self.symmetry == "on" and not self.wall.symmetric:
            raise tr.InputError("channel: symmetry = 'on' needs walls and equal nodes at both ends")
        self.nu, self.rank = step.viscosity, step.comm.rank
        told = [key.removesuffix("/parity") for key in step.attributes if key.endswith("/parity")]
        self.scalars = [name for name in told if name in step.names and name not in _OURS]
        self.schmidt = {name: step.attributes.get(f"{name}/schmidt", math.nan) for name in self.scalars}
        names = ["ux", "uy", "uz", *(["pressure"] if "pressure" in step.names else []), *self.scalars]
        self.flow = tr.Statistics(names, axes=self.axes)
        self.spin = tr.Statistics(["wx", "wy", "wz"], axes=self.axes) if self.vorticity else None

    # ---- adding ------------------------------------------------------------------------------------------------------
    def step(self, step):
        """Add a step."""
        if step.time < self.begin - 1e-9 * max(1.0, abs(self.begin)):
            return None
        weight = self._weight(step.time)
        self.flow.update({name: step[name] for name in self.flow.names}, weight)
        if self.spin:
            self.spin.update(dict(zip(self.spin.names, tr.curl(step.vector("u")), strict=True)), weight)
        self.last = step.time
        numbers, profiles = self._results()
        if not self.profiles_every:
            return numbers
        if math.isnan(self.stored):
            self.stored = self.last
        if self.last < self.stored + self.profiles_every * (1 - 1e-9):
            return numbers
        self.stored = self.last
        return {**numbers, **profiles}

    def _weight(self, time):
        if math.isnan(self.last):
            return 1.0  # until the second step gives the time that a step stands for
        passed = time - self.last
        if not passed > 0:
            raise tr.InputError(f"channel: the time of the steps must rise, from {self.last} on; found {time}")
        if self.flow.updates == 1:
            for one in filter(None, (self.flow, self.spin)):
                scaled = {key: value * passed for key, value in one.save().items() if key.startswith("product_")}
                one.load({**one.save(), **scaled, "weight": passed})
        return passed

    def finish(self):
        """The profiles of all steps."""
        if math.isnan(self.last):
            return None
        numbers, profiles = self._results()
        if self.rank == 0:
            print(
                f"channel: Re_tau = {numbers['re_tau']:.5g} over a time of {numbers['duration']:.6g} "
                f"({numbers['samples']} samples); the total stress has converged within "
                f"{100 * numbers['stress_deviation']:.3g} % of its straight line"
            )
        return {**numbers, **profiles}

    # ---- saving and loading ------------------------------------------------------------------------------------------
    def save(self):
        """The state for a checkpoint."""
        state = {"last": self.last, "stored": self.stored, "names": self._names()}
        for place, one in (("flow", self.flow), ("spin", self.spin)):
            state |= {f"{place}.{key}": value for key, value in (one.save() if one else {}).items()}
        return state

    def load(self, state):
        """Continue from the state of a checkpoint."""
        if state["names"] != self._names():
            raise tr.InputError(
                f"channel: the checkpoint has statistics of {', '.join(state['names'])}, and this run those of "
                f"{', '.join(self._names())}; they cannot be continued"
            )
        self.last, self.stored = state["last"], state["stored"]
        for place, one in (("flow", self.flow), ("spin", self.spin)):
            if one:
                one.load({key.removeprefix(f"{place}."): value for key, value in state.items()
                          if key.startswith(f"{place}.")})  # fmt: skip

    def _names(self):
        return [*self.flow.names, *(self.spin.names if self.spin else ())]

    # ---- results -----------------------------------------------------------------------------------------------------
    def _results(self):
        wall, names = self.wall, self._letters()
        mean = {letter: wall.facing(self.flow.mean[name], letter == "v") for name, letter in names.items()}
        products = {
            (a, b): wall.facing(self.flow.covariance(one, other), (a == "v") != (b == "v"))
            for at, (one, a) in enumerate(names.items())
            for other, b in list(names.items())[at:]
        }
        shear = self.nu * wall.derivative(mean["u"])
        at_walls = shear[[0, -1]] * wall.is_wall
        u_tau = math.sqrt(np.abs(at_walls).sum() / wall.is_wall.sum())
        plus = u_tau or math.nan  # without shear, values in wall units are not numbers
        half = _Half(wall, self.symmetry, mean, products)
        # Equal walls have equal shear in the mean; a wall that moves along the other one has its own.
        unlike = wall.is_wall.all() and _differ(mean["u"])
        line = np.interp(wall.y, [0, wall.height], at_walls if unlike else np.sign(at_walls) * u_tau**2)
        budget = {"viscous": half(shear, -1), "turbulent": half(-products["u", "v"], -1)}
        budget |= {"total": budget["viscous"] + budget["turbulent"], "straight": half(line, -1)}
        profiles = self._profiles(mean, products, half, plus)
        profiles |= {f"{name}_stress_plus": values / plus**2 for name, values in budget.items()}
        bulk = float(wall.share @ mean["u"])
        flows = abs(bulk) > 1e-12 * float(np.abs(mean["u"]).max())  # else it is what rounding leaves
        numbers = {
            "samples": self.flow.updates,
            "duration": self.flow.weight if self.flow.updates > 1 else 0.0,
            "u_tau": u_tau,
            "re_tau": u_tau * wall.half / self.nu,
            "u_bulk": bulk,
            "skin_friction": 2 * u_tau**2 / bulk**2 if flows else math.nan,
            "half_height": wall.half,
            "stress_deviation": float(np.abs(budget["total"] - budget["straight"]).max()) / plus**2,
        }
        for name in self.scalars:
            gradient, nusselt = _heat(wall, names[name], mean, products)
            numbers |= {f"{name}_flux": self.nu / self.schmidt[name] * gradient, f"{name}_nusselt": nusselt}
        return numbers, profiles

    def _profiles(self, mean, products, half, plus):
        profiles = {"y": half(self.wall.y, -1, self.wall.height / 2)}
        profiles["y_plus"] = profiles["y"] * (plus / self.nu)
        profiles |= {f"mean_{a}": half(one, half.signs[a], half.middle.get(a, 0.0)) for a, one in mean.items()}
        for (a, b), values in products.items():
            profiles[a + b if len(a + b) == 2 else f"{a}_{b}"] = half(values, half.signs[a] * half.signs[b])
        profiles["u_plus"] = profiles["mean_u"] / plus
        profiles |= {f"{a}_rms_plus": np.sqrt(profiles[a + a]) / plus for a in "uvw"}
        profiles["uv_plus"] = profiles["uv"] / plus**2
        if "p" in mean:
            profiles["p_rms_plus"] = np.sqrt(profiles["pp"]) / plus**2
        if self.spin:
            letters = {name[1]: letter for name, letter in self._letters().items() if letter in ("u", "v", "w")}
            for axis, letter in letters.items():
                rms = np.sqrt(half(self.wall.facing(self.spin.variance(f"w{axis}"))))
                profiles[f"omega_{'xyz'['uvw'.index(letter)]}_rms_plus"] = rms * (self.nu / plus**2)
        return profiles

    def _letters(self):
        """Name of a field -> its letter in the results: u is along the stream."""
        stream = self.stream
        if stream == "auto":
            speed = [self.wall.share @ np.abs(self.wall.facing(self.flow.mean[f"u{axis}"])) for axis in self.axes]
            stream = self.axes[int(np.argmax(speed))]
        span = self.axes.replace(stream, "")
        names = {f"u{stream}": "u", f"u{'xyz'[self.across]}": "v", f"u{span}": "w", "pressure": "p"}
        names |= {name: f"scalar_{name}" if name in ("u", "v", "w", "p") else name for name in self.scalars}
        return {name: letter for name, letter in names.items() if name in self.flow.names}


class _Wall:
    """The direction between the walls, seen from the lower wall, or from the only one."""

    def __init__(self, grid, across):
        ends = grid.boundaries[across].split("|")
        is_wall = [ends[0] == "dirichlet", ends[-1] == "dirichlet"]
        if not any(is_wall):
            raise tr.InputError(f"channel: there is no wall; the boundaries are {', '.join(grid.boundaries)}")
        self._upside_down = not is_wall[0]
        self.is_wall = self.facing(np.array(is_wall, float))
        self.height = grid.lengths[across]
        self.half = self.height / sum(is_wall)
        y = np.array(grid.coordinates(across))
        self.symmetric = all(is_wall) and np.allclose(y + y[::-1], self.height, rtol=0, atol=1e-9 * self.height)
        self.y = self.height - y[::-1] if self._upside_down else y
        # The trapezoidal rule in the uniform coordinate; the solver uses the same one to keep the flow rate.
        dy = 1 / np.array(grid.metric(across)) if grid.metric(across) else np.ones(len(y))
        dy[[0, -1]] *= 0.5
        self.share = self.facing(dy * grid.spacing(across) / self.height)
        # The scheme of the solver, for a profile: a grid with its nodes between the walls, and the fewest along them.
        points = [n if d == across else 8 for d, n in enumerate(grid.nodes)]
        self._schemes = tr.Operators(points, grid.lengths, grid.boundaries, stretching=grid.stretching, beta=grid.beta)
        self._axis, self._slope = "xyz"[across], (tr.ddx, tr.ddy, tr.ddz)[across]

    def facing(self, values, odd=False):
        """A profile in the order of y; `odd`: its sign changes with the direction."""
        if not self._upside_down:
            return values
        return -values[::-1] if odd else values[::-1]

    def derivative(self, values):
        """d/dy of a profile that is even about free-slip ends."""
        shape = [-1 if axis == self._axis else 1 for axis in "zyx"]
        line = tuple(slice(None) if axis == self._axis else 0 for axis in "zyx")
        field = tr.Field.from_function(self._schemes, lambda x, y, z: np.reshape(self.facing(values), shape))
        return self.facing(np.array(self._slope(field)[line]), odd=True)


class _Half:
    """Averages a profile over both halves of a channel, or returns it unchanged.

    `signs` has -1 for fields that change their sign in the mirror: v, and a scalar with different values at the walls.
    The mean of such a scalar is measured from its value in the middle, `middle`.
    """

    def __init__(self, wall, symmetry, mean, products):
        self.signs, self.middle = dict.fromkeys(mean, 1) | {"v": -1}, {}
        near = not _differ(mean["u"])
        if symmetry == "on" and not near:
            raise tr.InputError("channel: symmetry = 'on', but the walls move at different speeds; set it 'off'")
        for name, values in mean.items():
            if name in ("v", "w", "p"):
                continue
            given = _given(name, mean, products)
            if name != "u" and given.all() and _differ(values):
                self.signs[name], self.middle[name] = -1, 0.5 * (values[0] + values[-1])
            image = self.middle.get(name, 0.0) * 2 + self.signs[name] * values[::-1]
            alike = name == "u" or given.all() == given.any()
            near = near and alike and np.abs(values - image).max() <= _NEAR * np.ptp(values)
        folded = symmetry == "on" or (symmetry == "auto" and wall.symmetric and near)
        self._count = (len(wall.y) + 1) // 2 if folded else None

    def __call__(self, values, sign=1, offset=0.0):
        """Average a profile; `sign`: its sign in the mirror; `offset`: the value of an odd profile in the middle."""
        if self._count is None:
            return values
        return (0.5 * (values + sign * values[::-1]) + offset)[: self._count]


def _given(name, mean, products):
    """For the lower and the upper end: whether the value there never changes."""
    return products[name, name][[0, -1]] <= (_SAME * np.ptp(mean[name])) ** 2


def _differ(values):
    return abs(values[-1] - values[0]) > _SAME * np.ptp(values)


def _heat(wall, name, mean, products):
    """The mean gradient of a scalar at the walls, and its Nusselt number (NaN if it is not defined).

    If the values at the walls differ, the Nusselt number is the flux over the flux in a fluid at rest. If they are
    equal, it uses the hydraulic diameter 4 h and the mixed mean <U phi> / <U>.
    """
    values = mean[name]
    gradient = float(np.abs(wall.derivative(values)[[0, -1]] * wall.is_wall).sum() / wall.is_wall.sum())
    if not (wall.is_wall.all() and _given(name, mean, products).all()):
        return gradient, math.nan
    if _differ(values):
        return gradient, gradient * wall.height / abs(values[-1] - values[0])
    flow = wall.share @ mean["u"]
    difference = abs(wall.share @ (mean["u"] * values) / flow - values[0]) if flow else 0.0
    return gradient, 2 * wall.height * gradient / difference if difference else math.nan
