"""Reconcile: the answers of a table's whole history, made to agree; and what they tell about questions not yet asked.

exactly     which records a question counts, as boxes, or that it is not known
numbers     released numbers with their exact regions and the laws of their noise
kinds       how the releases of each kind are read; a registry
history     every number of a version, and what stays out and why
width       how wrong a weighted sum of many noises may be
told        what is told about the cells of a question; telling: how it is found
derived     answers that follow from earlier ones, and cost nothing
residual    whether that is exact enough, and what is still to be bought
agreement   all released numbers, made to agree: the verb `discreet reconcile`

Post-processing throughout: noisy numbers and public facts come in, nothing is charged.
"""
