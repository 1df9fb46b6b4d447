"""Reconcile: answers of different days, made to agree. Pure numerics over regions and noisy numbers.

    measured = [Measured(region=..., value=2005, variance=2.0), ...]
    known = Known(measured, domain)                the geometry: identities, least squares, standard errors
    known.reconciled                               -> Reconciled: values, standard_errors, identities, chi_square
    known.about(region)                            -> Estimate of a new question, or None if it is not determined
    known.estimate(index)                          -> Estimate of a measured one: its weights on all of them
    positive(known)                                -> Positive: also >= 0, parts no more than their whole; or Refused
    table(known)                                   -> Table: a real non-negative table that gives them; or Refused
    whole(known, values)                           -> Whole: whole numbers that agree still, as far as `rounded` says

`reconcile(measured, domain)` is `Known(measured, domain).reconciled`.

Every number is the sum of one thing (`family`: "rows", or an expression's name) over the records of an exact region,
so an identity between indicator functions of regions is one between true numbers, whatever the data are. Families never
mix: low * count <= sum <= high * count is left unused. Regions must be exact, never widened: `Region.of` and `&`
replace more than 64 boxes by their hull, and such a region must not come in here. `is_reconcilable` says whether one is
small enough.

Sees noisy numbers and public facts only; post-processing, so nothing here costs privacy. Imports numpy,
`discreet.errors`, `discreet.schema` and `discreet.accounting`.
"""

from discreet.inference.reconcile.column_generation import ReconciledTable, fit_table
from discreet.inference.reconcile.measured_number import (
    ROWS,
    ColumnDomains,
    MeasuredNumber,
    NumberEstimate,
    NumberIdentity,
    ReconciledNumbers,
)
from discreet.inference.reconcile.nonnegative_answers import NonnegativeAnswers, make_nonnegative
from discreet.inference.reconcile.reconciliation import Reconciliation, reconcile
from discreet.inference.reconcile.region_pieces import is_reconcilable
from discreet.inference.reconcile.whole_answers import WholeAnswers, round_answers

__all__ = [
    "ROWS",
    "ColumnDomains",
    "MeasuredNumber",
    "NonnegativeAnswers",
    "NumberEstimate",
    "NumberIdentity",
    "ReconciledNumbers",
    "ReconciledTable",
    "Reconciliation",
    "WholeAnswers",
    "fit_table",
    "is_reconcilable",
    "make_nonnegative",
    "reconcile",
    "round_answers",
]
