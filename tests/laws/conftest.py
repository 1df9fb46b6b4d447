"""Waiting for the disk is tested once; the many small tables of these tests need not do it. The engines of the laws."""

import os

import pytest

from engines.conformance.fixtures import _started, ground, light_ground

__all__ = ["_started", "ground", "light_ground"]


@pytest.fixture(scope="module")
def quick_files():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield
