"""Bounds: what nobody may read off the data is bought, and how much the declared limits take away is estimated."""

from discreet.answers.bounds.bias import Bias, bias_scope, estimate_bias
from discreet.answers.bounds.bounds_purchase import BoughtBounds, buy_bounds
from discreet.answers.bounds.bounds_terms import BoundsTerms
from discreet.answers.bounds.missing_bounds import ROWS_PER_PERSON, find_missing_bounds

__all__ = [
    "ROWS_PER_PERSON",
    "Bias",
    "BoughtBounds",
    "BoundsTerms",
    "bias_scope",
    "buy_bounds",
    "estimate_bias",
    "find_missing_bounds",
]
