"""Looking at a model: what it says, what it cost, and which questions it is good and bad for.

    model_evidence -> model_histograms, dependence, marginal_verdicts, simple_questions -> model_network
    -> model_report -> report_page; two_models has two reports on one page

All of it is a function of a Model, which holds noisy measurements and public facts: it reads no data and is free.
`model_comparison` alone goes back to the real table, through a program, and pays for it.
"""

from discreet.synth.inspect.any_report import inspect_any
from discreet.synth.inspect.model_report import ModelReport, inspect_model
from discreet.synth.inspect.two_models import TwoModels, inspect_two_models

__all__ = ["ModelReport", "TwoModels", "inspect_any", "inspect_model", "inspect_two_models"]
