"""Adult for the peers: codes of the same public bins and values that Discreet is told, and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd


def read(source, bins):
    """The table as codes, their number in each column, and how to write codes as values again."""
    real, told = pd.read_csv(source), json.loads(Path(bins).read_text())
    codes, sizes, ways = {}, {}, {}
    for name in real:
        if name in told:
            edges = np.array(told[name]["edges"])
            codes[name] = np.clip(np.searchsorted(edges, real[name], side="right") - 1, 0, len(edges) - 2)
            sizes[name], ways[name] = len(edges) - 1, edges
        else:
            values = sorted(real[name].unique())
            codes[name] = real[name].map({value: place for place, value in enumerate(values)}).to_numpy()
            sizes[name], ways[name] = len(values), np.array(values, dtype=object)
    return pd.DataFrame(codes).astype(int), sizes, ways


def write(codes, ways, path):
    """Rows of values: a value within a bin is drawn evenly."""
    random = np.random.default_rng()
    found = {}
    for name, way in ways.items():
        own = codes[name].to_numpy().astype(int)
        found[name] = way[own] if way.dtype == object else random.integers(way[own], way[own + 1])
    pd.DataFrame(found).to_csv(path, index=False)
