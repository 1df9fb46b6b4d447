"""Jobs: queries, fits, tables and attacks that run for people who wait elsewhere; their limits, keys and time grid.

query_request      what is asked for, and the digest that a key is bound to
idempotency        whose a key is, and what it is bound to
query_job          a query that runs or waits (query_queue: how many at once, how many wait, how they are stopped)
query_service      all of it together: a query in, a stored answer out
time_grid          when an answer may leave
job_queue          other work: fits of models, tables, rehearsals, attacks (attack_queue)
"""
