"""Looking at a model: what it says, what it cost, and which questions it is good and bad for.

    evidence -> columns, dependence, marginals, predicates -> report -> page

All of it is a function of a Model, which holds noisy measurements and public facts: it reads no data and is free.
`compare` alone goes back to the real table, through a program, and pays for it.
"""

from discreet.synth.inspect.report import Report, inspected

__all__ = ["Report", "inspected"]
