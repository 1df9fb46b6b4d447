"""Least squares over what strategies measured: noisy numbers in, the cells that fit them best and their errors out.

Sees noisy numbers and public facts only: all of it is post-processing, so nothing here costs privacy.
"""
