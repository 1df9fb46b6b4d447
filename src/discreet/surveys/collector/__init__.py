"""The collector: surveys whose answers were noised on the respondents' own devices.

It never sees a true answer, so there is no budget to keep here. What it owes people is that each
accepted report counts once, that what it acknowledged is on disk, that a closed survey stays closed,
and that it keeps nothing but the reports: no address, no time, no cookie.
"""
