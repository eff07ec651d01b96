# The public names, in the form in which type checkers take them as public. __init__.py loads each when it is used.
from .case.case import Case as Case
from .case.case import ConfigError as ConfigError
from .case.case import load_case as load_case
from .conversion.convert import Converted as Converted
from .conversion.convert import convert as convert
from .core import Error as Error
from .core import InputError as InputError
from .core import IoError as IoError
from .fields.calculus import (
    curl as curl,
)
from .fields.calculus import (
    ddx as ddx,
)
from .fields.calculus import (
    ddy as ddy,
)
from .fields.calculus import (
    ddz as ddz,
)
from .fields.calculus import (
    derivative as derivative,
)
from .fields.calculus import (
    div as div,
)
from .fields.calculus import (
    grad as grad,
)
from .fields.calculus import (
    interpolate as interpolate,
)
from .fields.calculus import (
    laplacian as laplacian,
)
from .fields.calculus import (
    rotation as rotation,
)
from .fields.calculus import (
    scalar_curl as scalar_curl,
)
from .fields.calculus import (
    strain as strain,
)
from .fields.distributions import (
    Histogram as Histogram,
)
from .fields.distributions import (
    JointHistogram as JointHistogram,
)
from .fields.distributions import (
    histogram as histogram,
)
from .fields.distributions import (
    joint_histogram as joint_histogram,
)
from .fields.field import Field as Field
from .fields.filtering import filter as filter
from .fields.invariants import lambda2 as lambda2
from .fields.invariants import q_criterion as q_criterion
from .fields.invariants import third_invariant as third_invariant
from .fields.operators import Operators as Operators
from .fields.reductions import (
    integral as integral,
)
from .fields.reductions import (
    max as max,
)
from .fields.reductions import (
    mean as mean,
)
from .fields.reductions import (
    mean_square as mean_square,
)
from .fields.reductions import (
    min as min,
)
from .fields.reductions import (
    sum as sum,
)
from .fields.sampling import Probes as Probes
from .fields.sampling import line as line
from .fields.sampling import plane as plane
from .fields.sampling import spread as spread
from .fields.spectra import (
    Correlation as Correlation,
)
from .fields.spectra import (
    Spectrum as Spectrum,
)
from .fields.spectra import (
    correlation as correlation,
)
from .fields.spectra import (
    spectrum as spectrum,
)
from .fields.spectra import (
    spectrum_1d as spectrum_1d,
)
from .fields.statistics import Statistics as Statistics
from .fields.vector import Tensor as Tensor
from .fields.vector import Vector as Vector
from .flow.initial.isotropic import RandomVelocity as RandomVelocity
from .flow.initial.noise import noise as noise
from .flow.model import Model as Model
from .grids import (
    StretchedGrid as StretchedGrid,
)
from .grids import (
    UniformGrid as UniformGrid,
)
from .io.placement import (
    Block as Block,
)
from .io.placement import (
    Box as Box,
)
from .io.placement import (
    Region as Region,
)
from .live_page.shown import live as live
from .simulation.simulation import Simulation as Simulation
from .simulation.simulation import run as run
from .steps.opening import open as open
from .steps.series import Series as Series
from .steps.step import Step as Step

__version__: str
