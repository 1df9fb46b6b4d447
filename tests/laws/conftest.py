"""Waiting for the disk is tested once; the many small tables of these tests need not do it."""

import os

import pytest


@pytest.fixture(scope="module")
def quick_files():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield
