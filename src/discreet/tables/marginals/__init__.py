"""Marginals: all tables of a few columns each, from one charge, that agree with each other wherever they overlap."""
