"""Intervals of a column: one release, from which every interval, prefix and quantile is read for ever."""
