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
replace more than 64 boxes by their hull, and such a region must not come in here. `reconcilable` says whether one is
small enough.

Sees noisy numbers and public facts only; post-processing, so nothing here costs privacy. Imports numpy,
`discreet.errors`, `discreet.schema` and `discreet.accounting`.
"""

from discreet.inference.reconcile.column import Table, table
from discreet.inference.reconcile.known import Known, reconcile
from discreet.inference.reconcile.measured import ROWS, Domain, Estimate, Identity, Measured, Reconciled
from discreet.inference.reconcile.nearest import Positive, positive
from discreet.inference.reconcile.pieces import reconcilable
from discreet.inference.reconcile.rounding import Whole, whole

__all__ = [
    "ROWS",
    "Domain",
    "Estimate",
    "Identity",
    "Known",
    "Measured",
    "Positive",
    "Reconciled",
    "Table",
    "Whole",
    "positive",
    "reconcilable",
    "reconcile",
    "table",
    "whole",
]
