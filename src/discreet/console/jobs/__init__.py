"""Questions that run for people who wait elsewhere: their limits, their keys and their time grid.

wanted    what is asked for, and the digest that a key is bound to
keyed     whose a key is, and what it is bound to
drafts    questions that were priced, rehearsed or refused, for a browser that comes back
job       a question on its way
running   how many at once, how many wait, and how they are stopped
asking    all of it together: a question in, a stored answer out
grid      when an answer may leave
"""
