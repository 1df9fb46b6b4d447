"""Scalar SQL means here what it means to DuckDB, which computes the original text over the values themselves."""

SAMPLES = ["n"]
