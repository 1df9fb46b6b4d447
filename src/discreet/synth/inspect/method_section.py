"""How the page judges, in plain words, with the limits of it."""

from __future__ import annotations

from discreet.synth.inspect.model_report import ModelReport
from discreet.synth.inspect.report_text import percent


def method_section(report: ModelReport) -> str:
    """The page's last section."""
    near, confidence = percent(report.near), percent(report.confidence)
    return f"""
<p>Nobody looked at the real table to judge this. What is known about it are counts to which noise of a known size was
added, and the model that was fitted to them.</p>
<ul>
<li><strong>Measured.</strong> Where columns were counted together, alone or inside a larger table, the true count is
taken to lie within the noise of the model's; or, where the model stands further than that from the measurement, within
that distance. The count is good if it is within {near} of every truth that is left. Rare values are never good: the
noise is the same for all cells of a table, and large against a small count.</li>
<li><strong>Not measured.</strong> Where columns were not counted together, their joint counts can still not be larger
than each part, nor smaller than what the parts must share. The count is good only if these bounds leave no room for
more than {near}; else nothing is claimed. The model may well be right there. It cannot be known from here.</li>
<li><strong>Expected distance.</strong> The mean size of the noise in each cell, but no more than twice the model's
count there, for the fit presses noise out of cells where almost nobody is. On simulated tables it came out, on average
over tables of a kind, between 0.7 and 1.7 times the true distance.</li>
<li><strong>Tried out.</strong> On simulated tables, where the truth is known, more than 98 of 100 counts that were
called good were good. Each statement is made at {confidence} by itself: of many, some are wrong.</li>
<li><strong>Not covered.</strong> A sample of rows is rounded, on top of all this: ask the model for its tables, or draw
more rows. Values inside one bin, and values kept together as rare, are spread by noisy weights and not judged. Sums,
means, regressions and models trained on the data need more than good counts. Where bounds were bought, the rows outside
are counted with noise: as many as noise allows are added to every ± of a cell at the ends, and where they may be more
than {near} of all rows, the column and each table with it is unknown. What clamping, truncation of persons with
many rows, and coarse bins have changed before anything was counted is not seen here.</li>
</ul>"""
