"""Drawings of models from plain data, as a page holds it: what the .json of the page says is what the page draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from discreet.synth.inspect.histogram_svg import draw_histogram
from discreet.synth.inspect.model_histograms import ModelHistogram
from discreet.synth.inspect.model_network import network_of
from discreet.synth.inspect.network_svg import draw_network, heading, share_text, width_text

__all__ = ["histogram", "network", "share_text", "table_heading", "width_text"]


def network(graph: Mapping[str, Any]) -> Markup:
    """The columns of a model and what joins them: `graph` of its report."""
    return draw_network(network_of(graph))


def histogram(data: Mapping[str, Any]) -> Markup:
    """One of the report's `histograms`: a bar for the model, a dot for the measurement, a line for its noise."""
    return draw_histogram(ModelHistogram(**data))


def table_heading(table: Mapping[str, Any]) -> str:
    """What one of the network's tables is of."""
    return heading(network_of({"arrows": False, "degree": 0, "columns": (), "edges": (), "tables": [table]}).tables[0])
