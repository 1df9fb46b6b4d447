"""The engines of the suite."""

from engines.conformance.fixtures import _started, any_ground, ground, light_ground, quick_ground, reference

__all__ = ["_started", "any_ground", "ground", "light_ground", "quick_ground", "reference"]
