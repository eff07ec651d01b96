"""What describes a user's own flow in a case: wrong input of every key gives one clear message."""

import copy

import pytest

import tailrace as tr

BASE = {
    "case": {"flow": "channel", "reynolds": 100.0},
    "grid": {
        "points": [16, 17, 12],
        "lengths": [4.0, 2.0, 3.0],
        "boundaries": ["periodic", "wall", "periodic"],
    },
    "time": {"dt": 0.01, "steps": 2},
}
THROUGH = {"grid.boundaries": [["inflow", "outflow"], "wall", "periodic"], "boundary.x_lower": [1.0, 0.0, 0.0]}
SLIP = {"grid.boundaries": ["periodic", "free-slip", "periodic"]}


def case(changes):
    document = copy.deepcopy(BASE)
    for key, value in changes.items():
        *tables, last = key.split(".")
        at = document
        for table in tables:
            at = at.setdefault(table, {})
        at[last] = value
    return tr.Case(**document)


@pytest.fixture(autouse=True)
def functions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("def moving(x, y, z, t):\n    return 0, 0, 0\n")


WRONG = [
    (
        {"numerics.eddy_viscosity": {"model": "wale", "form": "xcompact3d", "schmidt": 0.7}},
        "schmidt = 0.7 is of the conservative form",
    ),
    ({"grid.boundaries": ["periodic", "dirichlet", "periodic"]}, "grid.boundaries[1]: is called 'wall' here"),
    ({"grid.boundaries": ["periodic", "wal", "periodic"]}, "did you mean 'wall'?"),
    ({"grid.boundaries": ["periodic", ["wall", "periodic"], "periodic"]}, "'periodic' at both ends, or at none"),
    ({"grid.boundaries": ["periodic", ["wall"] * 3, "periodic"]}, "for the lower and the upper end"),
    ({"grid.boundaries": [["outflow", "inflow"], "wall", "periodic"]}, "'outflow' is an upper end"),
    ({"grid.stretching": "walls"}, "stretching and beta go together; beta is missing"),
    ({"grid.beta": 0.3}, "stretching is missing"),
    ({"grid.stretching": "wall", "grid.beta": 0.3}, "grid.stretching: must be 'centre', 'walls' or 'bottom'; did you"),
    ({"grid.stretching": "walls", "grid.beta": -1.0}, "grid.beta: must be greater than 0"),
    (
        {"grid.stretching": "walls", "grid.beta": 0.3, "grid.boundaries": ["periodic"] * 3},
        "nodes of a periodic y are uniform",
    ),
    ({"boundary.x_lower": [1.0, 0.0, 0.0]}, "boundary.x_lower: this end is periodic; a velocity is given at a wall"),
    ({"boundary.y_lower": [1.0, 0.0]}, "boundary.y_lower: must have three values"),
    ({"boundary.y_lower": ["a", 0.0, 0.0]}, "boundary.y_lower[0]: must be a number"),
    ({"boundary.y_low": [0.0] * 3}, "did you mean boundary.y_lower?"),
    ({"boundary.velocity": "own.py:moving", "boundary.y_lower": [0.0] * 3}, "here or by boundary.velocity, not both"),
    ({"boundary.velocity": "own.py:standing"}, "own.py has no function 'standing'; it has moving"),
    ({"boundary.velocity": "none.py:moving"}, "boundary.velocity: there is no file none.py"),
    ({"boundary.velocity": "own.py:moving", **SLIP}, "there is neither a wall nor an inflow"),
    ({"grid.boundaries": THROUGH["grid.boundaries"]}, "boundary.x_lower: is missing: the velocity of this inflow"),
    ({**THROUGH, "boundary.x_upper": [1.0, 0.0, 0.0]}, "boundary.x_upper: this end is outflow"),
    ({"boundary.y_lower": [0.0, 0.5, 0.0]}, "+6 is left (volume per time into the box: y_lower +6)"),
    (
        {
            "grid.boundaries": ["inflow", "wall", "periodic"],
            "boundary.x_lower": [1.0, 0.0, 0.0],
            "boundary.x_upper": [-1.0, 0.0, 0.0],
        },
        "x_lower +6, x_upper +6",
    ),
    ({**THROUGH, "boundary.outflow_speed": "large"}, "must be 'largest', 'middle' or a positive number; did you mean"),
    ({**THROUGH, "boundary.outflow_speed": -1.0}, "boundary.outflow_speed: must be greater than 0"),
    ({**THROUGH, "boundary.balance": "yes"}, "boundary.balance: must be true or false"),
    ({"boundary.outflow_speed": 0.5}, "boundary.outflow_speed: is that of an outflow; there is none"),
    ({"boundary.balance": False}, "boundary.balance: is that of an outflow; there is none"),
    ({**THROUGH, "forcing.flow_rate": 1.0}, "needs a periodic x (found inflow and outflow)"),
    ({"forcing.flow_rate": "a"}, "forcing.flow_rate: must be a number"),
    ({"forcing.direction": "y"}, "forcing.direction: must be 'x' or 'z'"),
    ({"forcing.direction": "z"}, "forcing.direction: is that of flow_rate, which is missing"),
    ({"forcing.acceleration": 1.0}, "forcing.acceleration: must be a list of three values"),
    ({"forcing.acceleration": [0.0, 1.0, 0.0], **SLIP}, "nothing flows through a free-slip boundary"),
    ({"forcing.coriolis": [0.0, 1.0]}, "forcing.coriolis: must have three values"),
    ({"forcing.coriolis_until": 1.0}, "forcing.coriolis_until: is the end of coriolis, which is missing"),
    ({"forcing.coriolis_until": 0.0, "forcing.coriolis": [0.0, 0.0, 1.0]}, "forcing.coriolis_until: must be greater"),
    ({"forcing.linear": "0.1"}, "forcing.linear: must be a number"),
    ({"forcing.rate": 0.1}, "did you mean forcing.flow_rate?"),
    (
        {
            "grid.boundaries": ["periodic"] * 3,
            "case.flow": "taylor-green",
            "body": {"shape": "cylinder", "centre": [2.0, 1.0], "radius": 0.4, "box": ["all"] * 3},
            "forcing.band": {"k_min": 1.6, "k_max": 4.0, "power": 0.1},
        },
        "body.box: a force on a body is not measured where forcing.band is another force in each step",
    ),
    ({"scalar": {"name": "phi"}}, "write [[scalar]], with double brackets"),
    ({"scalar": [{"name": "ux"}]}, "scalar[0] ('ux').name: 'ux' is taken; choose another name"),
    ({"scalar": [{"name": "a"}, {"name": "a"}]}, "scalar[1] ('a').name: 'a' is taken by another scalar"),
    ({"scalar": [{"name": "my phi"}]}, "must be a letter, and then letters, digits and _"),
    ({"scalar": [{"schmidt": 0.0}]}, "scalar[0].schmidt: must be greater than 0"),
    ({"scalar": [{"initial": "fronts"}]}, "did you mean 'front'?"),
    ({"scalar": [{"initial": True}]}, "scalar[0].initial: must be a number"),
    ({"scalar": [{"initial": "own.py:none"}]}, "scalar[0].initial: own.py has no function 'none'"),
    ({"scalar": [{"initial": "linear"}]}, "these are 'no-flux' and 'no-flux'; give two numbers in boundaries"),
    (
        {"scalar": [{"initial": "linear", "boundaries": ["periodic", [1.0, "no-flux"], "periodic"]}]},
        "the value at the lower end of y to that at the upper one, and these are 1.0 and 'no-flux'",
    ),
    ({"scalar": [{"initial": "front"}]}, "front and thickness go with initial = 'front', which needs both"),
    ({"scalar": [{"front": 1.0, "thickness": 1.0}]}, "front and thickness go with initial = 'front'"),
    ({"scalar": [{"boundaries": ["periodic", "no-flux"]}]}, "must have three values"),
    ({"scalar": [{"boundaries": ["no-flux", "no-flux", "periodic"]}]}, "must be periodic where the flow is (x is"),
    ({"scalar": [{"boundaries": ["periodic", "periodic", "periodic"]}]}, "boundaries[1]: must be periodic where"),
    ({"scalar": [{"boundaries": ["periodic", "noflux", "periodic"]}]}, "did you mean 'no-flux'?"),
    (
        {"scalar": [{"boundaries": ["periodic", ["outflow", 1.0], "periodic"]}]},
        "'outflow' needs an outflow of the flow",
    ),
    ({"scalar": [{"boundaries": ["periodic", [1.0, 2.0, 3.0], "periodic"]}]}, "must be one value, or a list of two"),
    ({"scalar": [{"boundaries": ["periodic", [1.0, "own.py:no"], "periodic"]}]}, "own.py has no function 'no'"),
    ({"scalar": [{"limits": [1.0, 0.0]}]}, "the least and the largest value, in this order"),
    ({"scalar": [{"limits": 1.0}]}, "must be a list of two numbers"),
    ({"scalar": [{"buoyancy": 1.0}]}, "scalar[0].buoyancy: must be a list of three values"),
    ({"scalar": [{"settling": [1.0]}]}, "scalar[0].settling: must have three values"),
    ({"scalar": [{"sc": 1.0}]}, "scalar[0].sc: unknown key"),
    ({"numerics.hyperviscosity": {"at_cutoff": -1.0}}, "numerics.hyperviscosity.at_cutoff: must be at least 0"),
    ({"numerics.hyperviscosity": {"nu0nu": 1.0}}, "valid here: at_cutoff, middle"),
    ({"case.parameters": {"k0": 1.0}}, "parameters.k0 does not go with flow = 'channel'; it takes noise, seed"),
    ({"case.parameters": {"noise": -1.0}}, "case.parameters.noise: must be at least 0"),
    ({"case.flow": "chanel"}, "did you mean 'channel'?"),
    ({"case.flow": "isotropic", "case.parameters": {"k0": 3.0}}, "(found periodic, wall, periodic)"),
    ({"case.flow": "taylor-green"}, "'taylor-green' has no walls or inflows"),
    ({"case.project": "no"}, "case.project: must be true or false"),
    ({"body": {"shape": "cilinder"}}, "did you mean 'cylinder'?"),
    ({"body": {"shape": "cylinder", "centre": [1.0], "radius": 1.0}}, "a cylinder needs a centre of 2 numbers"),
    ({"body": {"shape": "own.py:moving", "radius": 1.0}}, "centre and radius are of a cylinder or a sphere"),
    ({"body": {"shape": "sphere", "centre": [1.0, 1.0, 1.0], "radius": 0.0}}, "body.radius: must be greater than 0"),
]


@pytest.mark.parametrize("changes, said", WRONG, ids=[said[:40] for _, said in WRONG])
def test_one_message_for_what_is_wrong(changes, said):
    with pytest.raises(tr.ConfigError) as error:
        case(changes)
    text = str(error.value)
    assert said in text
    assert "problems" not in text, "one problem gives one message"
    assert "Input should" not in text, "in our words"


def test_what_is_right_survives_being_written_out(tmp_path):
    scalars = [
        {"name": "heat", "initial": "waves", "boundaries": [[1.0, "outflow"], [1.0, "deposit"], "periodic"]},
        {"name": "dye", "initial": "front", "front": 1.0, "thickness": 0.1, "limits": [0.0, 1.0]},
        {"name": "salt", "initial": 0.5, "schmidt": 7.0, "settling": [0.0, -0.1, 0.0], "buoyancy": [0.0, -1.0, 0.0]},
    ]
    one = case(
        {
            **THROUGH,
            "grid.stretching": "bottom",
            "grid.beta": 0.5,
            "boundary.outflow_speed": 0.7,
            "boundary.balance": False,
            "forcing.coriolis": [0.0, 0.1, 0.0],
            "forcing.coriolis_until": 2.5,
            "numerics.hyperviscosity": {},
            "scalar": scalars,
        }
    )
    (tmp_path / "case.toml").write_text(one.to_toml())
    assert tr.load_case(tmp_path / "case.toml").model_dump() == one.model_dump()
    assert one.boundary.outflow_speed == 0.7
    assert one.numerics.hyperviscosity.at_cutoff == 4.0


def test_flows_that_balance_are_taken():
    case({"boundary.y_lower": [0.0, 0.5, 0.0], "boundary.y_upper": [0.0, 0.5, 0.0]})
    both = {"boundary.x_lower": [1.0, 0.0, 0.0], "boundary.x_upper": [1.0, 0.0, 0.0]}
    case({"grid.boundaries": ["inflow", "wall", "periodic"], **both})
    case({**THROUGH, "boundary.y_lower": [0.0, 0.1, 0.0]})
