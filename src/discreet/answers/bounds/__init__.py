"""Bounds: what nobody may read off the data is bought, and how much the declared limits take away is estimated."""

from discreet.answers.bounds.bias import Bias, estimate, judged
from discreet.answers.bounds.buying import Bought, buy
from discreet.answers.bounds.terms import Terms
from discreet.answers.bounds.wishes import ROWS_PER_PERSON, wishes

__all__ = ["ROWS_PER_PERSON", "Bias", "Bought", "Terms", "buy", "estimate", "judged", "wishes"]
