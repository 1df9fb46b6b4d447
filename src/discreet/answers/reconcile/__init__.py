"""Reconcile: the answers of a table's whole history, made to agree; and what they tell about questions not yet asked.

exact_region         which records a query counts, as boxes, or that it is not known
released_numbers     released numbers with their exact regions and the distributions of their noise
release_readers      how the releases of each kind are read; a registry
history              every number of a version, and what stays out and why
earlier_estimate     what earlier answers say about the cells of a query (history_estimation: how it is computed)
derived              answers that follow from earlier ones, and cost nothing
missing_precision    whether that is exact enough, and what is still to be bought
agreement            all released numbers, made to agree: the verb `discreet reconcile`

Post-processing throughout: noisy numbers and public facts come in, nothing is charged.
"""
