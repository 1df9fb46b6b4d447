"""How the page judges, in plain words, with the limits of it."""

from __future__ import annotations

from discreet.synth.inspect.model_findings import ModelFindings
from discreet.synth.inspect.report_text import percent


def method_section(report: ModelFindings) -> str:
    """The page's last section."""
    near, confidence = percent(report.near), percent(report.confidence)
    return f"""
<p>These verdicts do not use the real table. They use only counts with noise of a known size, and the model that was
fitted to them.</p>
<ul>
<li><strong>Measured.</strong> Where columns were counted together, alone or inside a larger table, the true count is
assumed to be within the noise of the model's count; or, where the model is further than that from the measurement,
within that distance. The count is good if it is within {near} of every true count that remains possible. Rare values
are never good: the noise is the same for all cells of a table, and large compared with a small count.</li>
<li><strong>Not measured.</strong> Where columns were not counted together, their joint count still cannot be larger
than the count of each part, or smaller than what the parts must share. The count is good only if these bounds leave a
range of at most {near}; otherwise nothing is claimed. The model may be right there, but this page cannot know.</li>
<li><strong>Expected distance.</strong> The mean size of the noise in each cell, but at most twice the model's count
there, because the fit removes noise from cells that are almost empty. On simulated tables it was, on average over
tables of a kind, between 0.7 and 1.7 times the true distance.</li>
<li><strong>Tested.</strong> On simulated tables, where the truth is known, more than 98 of 100 counts that were
called good were good. Each statement holds at {confidence} confidence by itself: among many, some are wrong.</li>
<li><strong>Not covered.</strong> Sampled rows are rounded as well: read tables from the model directly, or draw
more rows. Values inside one bin, and values grouped as rare, are spread by noisy weights and not judged. Sums, means,
regressions and models trained on the data need more than good counts. Where bounds were measured, the rows outside them
are counted with noise: the most that the noise allows is added to the ± of each cell at the ends, and where that may be
more than {near} of all rows, the column and every table with it is unknown. This page does not see what changed before
counting: clamping, truncation of persons with many rows, and coarse bins.</li>
</ul>"""
