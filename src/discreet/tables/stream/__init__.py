"""Streams: running totals of a table that grows, released day after day from one charge for the whole horizon."""
