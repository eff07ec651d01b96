"""The only door to the compiled module: what it has is imported from here.

Use the names of the package itself; these have no defaults and few checks.
"""

from ._core import *  # noqa: F403
