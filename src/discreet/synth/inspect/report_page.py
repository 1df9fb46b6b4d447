"""The report as one HTML page that needs nothing else: no network, no script, no font, no picture beside it."""

from __future__ import annotations

from fractions import Fraction

from discreet import exact
from discreet.synth.inspect import dependence_diagrams, histogram_svg
from discreet.synth.inspect.judgement import expected_errors, good_and_bad
from discreet.synth.inspect.method_section import method_section
from discreet.synth.inspect.model_comparison import Distance
from discreet.synth.inspect.model_findings import ModelFindings
from discreet.synth.inspect.model_histograms import ModelHistogram
from discreet.synth.inspect.report_style import stylesheet
from discreet.synth.inspect.report_text import count_noun, crossed_names, escape_html, percent, rounded, tenths
from discreet.synth.model_contents import ModelCard

_REST = "everything else"


def report_page(report: ModelFindings) -> str:
    """The whole page. Everything in it that comes from a table is escaped."""
    sections = [
        ("questions", "What this data is good and bad for", good_and_bad(report)),
        ("compared", "Compared with the real table", _compared(report)),
        ("columns", "Each column", _columns(report)),
        ("pairs", "How columns depend on each other", _pairs(report)),
        ("errors", "Expected error of each table", expected_errors(report)),
        ("cost", "What it cost", _cost(report)),
        ("method", "How this was judged", method_section(report)),
    ]
    filled_sections = [each for each in sections if each[2]]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in filled_sections)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{text}</section>'
        for name, title, text in filled_sections
    )
    title = f"Synthetic data from {escape_html(report.card.table)}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{stylesheet()}</style>
</head>
<body>
<header><h1>{title}</h1>{_lead(report)}<nav aria-label="Sections"><ul>{links}</ul></nav></header>
<main>{body}</main>
<footer><p>Made by Discreet from noisy measurements and public facts only. Sharing this page reveals no more about
anyone than sharing {"the model and that comparison" if report.comparison else "the model"}.</p></footer>
</body>
</html>
"""


def _lead(report: ModelFindings) -> str:
    card = report.card
    sentence = (
        f"A model of about {rounded(report.rows)} rows and {count_noun(len(report.columns), 'column')}, fitted under "
        f"differential privacy. Everything here follows from noisy measurements and public facts"
        f"{'' if report.comparison else '; reading it is free'}."
        if card.epsilon is not None
        else f"Rows of the right types for {count_noun(len(report.columns), 'column')}, made from the declared schema "
        "alone. It says nothing about the data: every answer that it gives about the data is made up."
    )
    facts = {"model": escape_html(card.kind), "rows, about": rounded(report.rows)}
    if report.rows_plus_minus is not None:
        facts["rows, about"] += f' <span class="quiet small">± {rounded(report.rows_plus_minus)}</span>'
    facts["protects each"] = escape_html(card.unit)
    if card.epsilon is not None:
        facts |= {"epsilon": exact.show(card.epsilon, up=True), "delta": _delta(card)}
    facts_html = "".join(f"<div><dt>{word}</dt><dd>{text}</dd></div>" for word, text in facts.items())
    warned = "".join(f'<p class="second">{escape_html(warning)}</p>' for warning in card.warnings)
    because = f'<p class="quiet">Why this model: {escape_html(card.because)}</p>' if card.because else ""
    return f'<p class="lead">{sentence}</p>{because}{warned}<dl class="facts">{facts_html}</dl>'


def _delta(card: ModelCard) -> str:
    """The delta of the guarantee. With noise that is charged in rho it is never 0, whatever a card says."""
    return "not stated" if card.rho is not None and card.delta == 0 else exact.show(card.delta, up=True)


def _columns(report: ModelFindings) -> str:
    figures = "".join(_figure(each) for each in report.histograms)
    left = (
        f"<p>Not modelled, filled with placeholders: {', '.join(map(escape_html, report.placeholders))}.</p>"
        if report.placeholders
        else ""
    )
    return f"""
<p><span class="key"></span>Bars show the model, <span class="key dot"></span>dots the measurements, with the
{percent(report.confidence)} confidence interval of the added noise. Where a dot is far from its bar, other measurements
or the rule that no count is negative have moved the model. Point at a bar to see its numbers.</p>{left}
<div class="grid">{figures}</div>"""


def _figure(of: ModelHistogram) -> str:
    notes = []
    if of.null_share is not None:
        notes.append(f"NULL {percent(of.null_share)}")
    if of.ordered and histogram_svg.is_drawn_equally_wide(of):
        notes.append("bins have different widths but are drawn equally wide")
    elif of.ordered and histogram_svg.widths_differ(_widths(of)):
        notes.append("the area of a bar shows its rows, so wide bins look low")
    if of.noisy_counts is None:
        notes.append("never measured")
    caption = f"<figcaption>{'; '.join(notes)}</figcaption>" if notes else ""
    return f"<figure><h3>{escape_html(of.name)}</h3>{histogram_svg.draw_histogram(of)}{caption}</figure>"


def _widths(of: ModelHistogram) -> list[int]:
    return [high - low for low, high in filter(None, of.spans)]


def _pairs(report: ModelFindings) -> str:
    if len(report.columns) < 2:
        return ""
    sets = "".join(f"<li>{crossed_names(own)}</li>" for own in report.network)
    listed = f'<details><summary>As a list</summary><ul class="plain">{sets}</ul></details>' if sets else ""
    strongest = sorted((each for each in report.dependences if each.strength), key=lambda each: -(each.strength or 0))[
        :8
    ]
    items = "".join(
        f'<li>{crossed_names(each.columns)} <span class="quiet small">{each.strength:.2f}'
        f"{'' if each.measured else ', never measured together'}</span></li>"
        for each in strongest
    )
    return f"""
<div class="halves">
<figure><h3>Dependence in the model</h3>{dependence_diagrams.heatmap(report.columns, report.dependences)}
<figcaption>The share of one column's uncertainty that the other removes: 0 if they are independent, 1 if one
determines the other (mutual information divided by the smaller entropy). Strong frame: measured together. Otherwise the
model knows the pair only through other columns, and the real dependence may be stronger. Dash: not shown, because the
noise does not rule out that one of the two columns has only one value.</figcaption>
<h3>Strongest</h3><ul class="plain">{items or "<li>none</li>"}</ul></figure>
<figure><h3>Measured together</h3>{dependence_diagrams.network(report.columns, report.network, report.dependences)}
<figcaption>An arc joins two columns that were measured together. Thicker arcs mean stronger dependence; dashed arcs
mean that three or more columns were measured at once.</figcaption>{listed}</figure>
</div>"""


def _cost(report: ModelFindings) -> str:
    card = report.card
    if card.epsilon is None:
        return "<p>Nothing: no data was read.</p>"
    shares = _shares(report)
    rows = "".join(
        f'<tr><th scope="row">{escape_html(word)}</th><td class="number">{percent(share)}</td></tr>'
        for word, share in shares.items()
    )
    table = f"<table><caption>How it was split</caption><tbody>{rows}</tbody></table>"
    split = f'{dependence_diagrams.share_bar(shares)}<div class="scroll">{table}</div>'
    facts = {
        "epsilon": exact.show(card.epsilon, up=True),
        "delta": _delta(card),
        "rho": "none (pure)" if card.rho is None else exact.show(card.rho, up=True),
        "release": f'<span class="small">{escape_html(card.release or "none")}</span>',
        "steps": f"{card.steps:,}",
        "version": f"{card.version:,}",
    }
    facts_html = "".join(f"<div><dt>{word}</dt><dd>{text}</dd></div>" for word, text in facts.items())
    apart = ", except for the comparison with the real table" if report.comparison else ""
    unit = "one row" if card.unit == "row" else f"one {card.unit}"
    return f"""
<p>The whole price was charged to the ledger at once, before any data was read. The guarantee hides the presence of
{escape_html(unit)}. Using the model and sampling from it are free, and so is this page{apart}.</p>
<dl class="facts">{facts_html}</dl>
{split if shares else ""}"""


def _shares(report: ModelFindings) -> dict[str, float]:
    """What the guarantee went to, where it is said; shares that do not add up to all leave a rest."""
    shares = {word: float(share) for word, share in report.card.shares.items()}
    rest = 1 - sum(report.card.shares.values(), Fraction(0))
    return shares | ({_REST: float(rest)} if shares and rest > Fraction(1, 10**6) else {})


def _compared(report: ModelFindings) -> str:
    comparison = report.comparison
    if comparison is None:
        return ""
    lines = {
        f"mean of {count_noun(comparison.pairs, 'pair')} of columns": comparison.mean,
        "pairs that were measured together": comparison.measured,
        "pairs that were never measured together": comparison.others,
        f"the worst pair, as far as the noise shows: {' × '.join(comparison.worst)}": comparison.worst_distance,
    }
    rows = "".join(
        f'<tr><th scope="row">{escape_html(words)}</th>{_numbers(each)}</tr>' for words, each in lines.items() if each
    )
    delta = f" and delta {exact.show(comparison.delta, up=True)}" if comparison.delta else ""
    return f"""
<p>How far the model's tables of two columns are from the real ones: the share of rows that would have to move (total
variation). This comparison was charged in addition to the fit: epsilon
{exact.show(comparison.epsilon, up=True)}{delta}, release {escape_html(comparison.release)}.</p>
<div class="scroll"><table><thead><tr><th scope="col">Distance</th><th scope="col" class="number">noisy value</th>
<th scope="col" class="number">95% confidence interval</th></tr></thead><tbody>{rows}</tbody></table></div>"""


def _numbers(of: Distance) -> str:
    return (
        f'<td class="number">{tenths(of.noisy_value)}</td><td class="number">{tenths(of.low)} to {tenths(of.high)}</td>'
    )
