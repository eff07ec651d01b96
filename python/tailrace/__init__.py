"""Tailrace: incompressible flow, its output and its analysis, in parallel.

Heavy parts (the compiled module, MPI) are loaded when first used, so that `import tailrace` is quick. The public names
are listed in `__init__.pyi`.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from .core import build_info

        return build_info()["version"]
    return _load(name)
