"""The page on streams: its figures are those of the code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.tables.stream.square_root_counter import SquareRootCounter
from discreet.tables.stream.tree_counter import best_tree

PAGE = (Path(__file__).parents[3] / "docs" / "tables" / "stream.md").read_text()


@pytest.mark.thin(1)
@pytest.mark.parametrize("size", [32, 365, 1024])
def test_the_figures(size):
    root, tree = SquareRootCounter(size), best_tree(size)
    gauss = np.sqrt(root.total_variances() * root.strategy.sensitivity(1).l2_squared)
    laplace = np.sqrt(tree.total_variances() * 2.0) * tree.strategy.sensitivity(1).l1
    found = [value for sds in (gauss, laplace) for value in (np.sqrt(np.mean(sds**2)), sds.max())]
    assert f"| {size:,} | " + " | ".join(f"{value:.2f}" for value in found) + " |" in PAGE
