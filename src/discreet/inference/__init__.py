"""Graphical models of noisy marginals: fit, ask, sample.

Sees noisy numbers and public facts only, never a count that is exact and never the randomness that hides one: all of it
is post-processing, so nothing here costs privacy. Imports numpy, `discreet.errors` and `discreet.exact`.

Attributes are numbers 0..d-1 with public `sizes`; a table over attributes is an array with one axis for each.
"""
