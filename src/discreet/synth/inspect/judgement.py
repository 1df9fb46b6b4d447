"""The page's heart: the questions this data is good and bad for, and the expected error of each table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.synth.inspect.marginal_verdicts import JudgedMarginal, Verdict
from discreet.synth.inspect.model_findings import ModelFindings
from discreet.synth.inspect.report_text import count_noun, crossed_names, escape_html, percent, rounded, tenths
from discreet.synth.inspect.simple_questions import ColumnQuestions, SimplePredicate

#: So many of a list are shown at once; the others unfold.
SHOWN = 10

#: So many rows of a table.
SHOWN_ROWS = 25

_SIZES = {1: "Single columns", 2: "Pairs of columns", 3: "Three columns"}
_VERDICTS: tuple[Verdict, ...] = ("good", "partly", "poor", "unknown")


def good_and_bad(report: ModelFindings) -> str:
    """What to rely on, what not, and why."""
    near = percent(report.near)
    judged = report.marginals.judged
    return f"""
<p>A count from this data is called <em>good</em> if it is expected to be within {near} of the real table's count, with
{percent(report.confidence)} confidence. A table of columns is good if at least 90% of its rows are in cells with good
counts, and partly good if at least 50% are. Percentages are the shares of rows in cells with good counts.</p>
{_tally(report)}
<div class="halves">
<div><h3 class="main">Rely on</h3>
{_group("Good", _of(judged, "good"))}
{_group("Partly good: only the common cells", _of(judged, "partly"))}
{_nothing(judged, "good", "partly")}</div>
<div><h3 class="second">Do not rely on</h3>
{_group("Too few rows compared with the noise", _of(judged, "poor"))}
{_group("Measured bounds that may be too narrow: rows may be outside them", _unknown(judged, measured=True))}
{_group("Never measured together: the model guesses from other tables", _unknown(judged, measured=False))}
{_nothing(judged, "poor", "unknown")}</div>
</div>
<h3>Simple counts</h3>
<p>How many rows have one value, or a value in a range. The count of a single value is good from about the number of
rows in the second column upwards.</p>
{_simple(report.questions)}"""


def _of(judged: Iterable[JudgedMarginal], verdict: Verdict) -> list[JudgedMarginal]:
    return [each for each in judged if each.verdict == verdict]


def _unknown(judged: Iterable[JudgedMarginal], *, measured: bool) -> list[JudgedMarginal]:
    """What nothing is claimed about, although it was measured, or because it was not."""
    return [each for each in judged if each.verdict == "unknown" and each.measured == measured]


def _tally(report: ModelFindings) -> str:
    rows = []
    for size, words in _SIZES.items():
        verdicts = [each.verdict for each in report.marginals.judged if len(each.columns) == size]
        if verdicts:
            numbers = "".join(f'<td class="number">{verdicts.count(verdict):,}</td>' for verdict in _VERDICTS)
            rows.append(f'<tr><th scope="row">{words}</th>{numbers}<td class="number">{len(verdicts):,}</td></tr>')
    passed = report.marginals.passed_over
    note = (
        f'<p class="quiet small">{count_noun(passed, "further table")} not judged: too large, or too many.</p>'
        if passed
        else ""
    )
    return _table(["Tables of", "good", "partly", "poor", "unknown", "total"], rows) + note


def _group(title: str, judged_marginals: Sequence[JudgedMarginal]) -> str:
    if not judged_marginals:
        return ""
    items = [f"<li>{crossed_names(each.columns)} {_aside(each)}</li>" for each in judged_marginals]
    return f'<p class="quiet small">{title}</p>{folded(items)}'


def _nothing(judged: Iterable[JudgedMarginal], *verdicts: Verdict) -> str:
    return "" if any(each.verdict in verdicts for each in judged) else '<p class="quiet small">nothing</p>'


def _aside(each: JudgedMarginal) -> str:
    if each.verdict == "unknown":
        return ""
    return f'<span class="quiet small">{percent(each.near_share)}</span>'


def folded(items: Sequence[str]) -> str:
    """A list, of which the first are shown and the others unfold."""
    shown, rest = items[:SHOWN], items[SHOWN:]
    more = f'<details><summary>{len(rest):,} more</summary><ul class="plain">{"".join(rest)}</ul></details>'
    return f'<ul class="plain">{"".join(shown)}</ul>{more if rest else ""}'


def _simple(questions: Sequence[ColumnQuestions]) -> str:
    heads = ["Column", "good from (rows)", "good counts", "good examples", "poor examples"]
    rows = []
    for each in questions:
        good = sum(one.good for one in each.predicates)
        cells = [
            ("number", "unknown" if each.least is None else rounded(each.least)),
            ("number", f"{good:,} of {len(each.predicates):,}"),
            ("", _examples(each, good=True)),
            ("", _examples(each, good=False)),
        ]
        cells_html = "".join(
            f'<td role="cell" class="{kind}" data-head="{head}">{text}</td>'
            for head, (kind, text) in zip(heads[1:], cells, strict=True)
        )
        rows.append(f'<tr role="row"><th role="rowheader" scope="row">{escape_html(each.column)}</th>{cells_html}</tr>')
    return _table(heads, rows, wide=(3, 4))


def _examples(of: ColumnQuestions, *, good: bool) -> str:
    """The rarest that is still good and the most common one; the most common that is not."""
    ordered_predicates = sorted((each for each in of.predicates if each.good == good), key=lambda each: -each.count)
    picked = (
        ordered_predicates[:1]
        + ordered_predicates[-1:] * (good and len(ordered_predicates) > 1)
        + ordered_predicates[1:2] * (not good)
    )
    return "<br>".join(_predicate(each) for each in picked) or '<span class="quiet">none</span>'


def _predicate(each: SimplePredicate) -> str:
    width = "" if each.plus_minus is None else f" ± {rounded(each.plus_minus)}"
    return f'{escape_html(each.condition)} <span class="quiet small">{rounded(each.count)}{width}</span>'


def expected_errors(report: ModelFindings) -> str:
    """Each table that was measured, the worst first; the others cannot be known."""
    measured_marginals = [each for each in report.marginals.judged if each.expected_distance is not None]
    measured_marginals.sort(key=lambda each: -(each.expected_distance or 0))
    rows = [_row(each) for each in measured_marginals]
    heads = ["Table", "cells", "expected distance", f"rows within {percent(report.near)}", "verdict"]
    rest = rows[SHOWN_ROWS:]
    more = (
        f"<details><summary>{count_noun(len(rest), 'more table')}</summary>{_table(heads, rest)}</details>"
        if rest
        else ""
    )
    unknown = len(report.marginals.judged) - len(measured_marginals)
    return f"""
<p>The distance of a table is the share of rows that would have to move to another cell to make it equal to the real
table (total variation). For measured tables it is estimated from the noise that was added. Overall, the model differs
from the measurements by {report.misfit:.2f} standard deviations of that noise; about 1 or less is expected.</p>
{_table(heads, rows[:SHOWN_ROWS])}{more}
<p><strong>Unknown</strong>: {count_noun(unknown, "other table", "other tables")}, never measured or based on measured
bounds that may be too narrow. How far off the model is there depends on the data. Only a comparison that spends privacy
budget can show it.</p>"""


def _row(each: JudgedMarginal) -> str:
    return (
        f'<tr><th scope="row">{crossed_names(each.columns)}</th><td class="number">{each.cells:,}</td>'
        f'<td class="number">{tenths(each.expected_distance or 0.0)}</td>'
        f'<td class="number">{percent(each.near_share)}</td><td>{each.verdict}</td></tr>'
    )


def _table(heads: Sequence[str], rows: Sequence[str], *, wide: Sequence[int] = ()) -> str:
    """A table: the first column and the wide ones hold words, a last one `verdict` too, all others numbers.

    One with wide columns stands as blocks on a small screen, and says in roles that it is a table still.
    """
    cells = "".join(
        f'<th scope="col"{"" if turn == 0 or turn in wide or head == "verdict" else " class=number"}>{head}</th>'
        for turn, head in enumerate(heads)
    )
    kind = ' class="stack" role="table"' if wide else ""
    body = f"<thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table{kind}>{body}</table></div>'
