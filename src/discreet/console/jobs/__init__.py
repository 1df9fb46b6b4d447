"""Queries, fits and tables that run for people who wait elsewhere: their limits, their keys and their time grid.

query_request       what is asked for, and the digest that a key is bound to
idempotency         whose a key is, and what it is bound to
job_runner          how many jobs at once, how many wait, and how they are stopped: one runner for
query_queue         queries in SQL, and
job_queue           fits and tables
query_service       all of it together: a query in, a stored answer out
time_grid           when an answer may leave
"""
