"""Packages that an answer can be turned into, which need not be there."""

from __future__ import annotations

import importlib
from typing import Any


def require(package: str) -> Any:
    """The package, or an error that says how to get it and what works without."""
    try:
        return importlib.import_module(package)
    except ImportError:
        from dither.plot.style import MissingPackage

        raise MissingPackage(
            f".to_{package}() needs {package}, which is not installed: in a checkout of dither "
            f"pip install '.[{package}]'; .to_arrow() and .to_dicts() do without."
        ) from None
