"""Looking at a model: what it says, what it cost, and which questions it is good and bad for.

    model_evidence -> model_histograms, dependence, marginal_verdicts, simple_questions -> model_report -> report_page

All of it is a function of a Model, which holds noisy measurements and public facts: it reads no data and is free.
`model_comparison` alone goes back to the real table, through a program, and pays for it.
"""

from discreet.synth.inspect.any_report import inspect_any
from discreet.synth.inspect.model_report import ModelReport, inspect_model

__all__ = ["ModelReport", "inspect_any", "inspect_model"]
