"""Rehearsing: look at rows that could be a table's, and run a question on them, before anything is spent.

    lookalike         rows made from the declaration alone
    row_sources       rows by what was released: a fitted model, or counts of single columns
    rehearsal_world   declared tables of such rows, in a folder that is thrown away
    plain_sql         the same query in plain SQL, on the rows as they are
    rehearsal         a query, run a few times, with its whole error and the parts of it

Guarantee: nothing private is read. Because: rows come from declarations, from public tables and from releases that
    were paid for; no source of a private table, no declared table, no key and no budget is touched.
"""

from discreet.rehearse.lookalike import ASSUMED, look_alike
from discreet.rehearse.rehearsal import Rehearsal, rehearse

__all__ = ["ASSUMED", "Rehearsal", "look_alike", "rehearse"]
