"""The lab: attacks on methods that do not protect, and measurements of those that do. Each returns `Evidence`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.lab.attacks import (
        averaging,
        background,
        census,
        differencing,
        floats,
        homogeneity,
        intersection,
        linkage,
        minimality,
        network,
        ratings,
        reconstruction,
        sampling,
        synthetic,
    )

__all__ = [
    "averaging",
    "background",
    "census",
    "differencing",
    "floats",
    "homogeneity",
    "intersection",
    "linkage",
    "minimality",
    "network",
    "ratings",
    "reconstruction",
    "sampling",
    "synthetic",
]


def __getattr__(name: str) -> Any:
    """`from discreet.lab import linkage`: an attack is loaded when it is named, for each needs libraries of its own."""
    if name not in __all__:
        raise AttributeError(f"module 'discreet.lab' has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"discreet.lab.attacks.{name}")
