"""All evidence on one page that needs nothing else: no network, no script, no font, no picture beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from discreet.errors import MissingPackage
from discreet.lab.evidence import Evidence, confidence_text, percent
from discreet.lab.pictures import COLOURS
from discreet.lab.registry import AttackEntry
from discreet.synth.inspect.report_style import stylesheet
from discreet.synth.inspect.report_text import escape_html

#: An attack, and what it found.
AttackResult = tuple[AttackEntry, Evidence]
#: An attack that did not run, and what it lacks.
SkippedAttack = tuple[AttackEntry, MissingPackage]

_MORE = """
.verdict { display: inline-block; padding: .05rem .6rem; border-radius: 1rem; font-size: .8125rem; font-weight: 600;
  border: 1px solid currentColor; white-space: nowrap; }
.falls { color: var(--second); }
.stands { color: var(--main); }
.card { display: grid; gap: 1rem 3rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  align-items: start; }
.card svg { max-width: 40rem; }
.card svg text { font-size: 14px; paint-order: stroke; stroke: var(--paper); stroke-width: 4px;
  stroke-linejoin: round; }
.facts { grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); }
:root { --third: #4e7d2f; --fourth: #8a4a8f; --fifth: #7a6a00; }
@media screen and (prefers-color-scheme: dark) { :root { --third: #a3cc84; --fourth: #d3a3d7; --fifth: #cfc05a; } }
.title { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; justify-content: space-between; }
.bar { position: relative; display: block; height: .5rem; min-width: 8rem; border-radius: .25rem;
  background: var(--rule); }
.bar i { position: absolute; inset: 0 auto 0 0; border-radius: .25rem; background: var(--second); }
.bar.held i { background: var(--main); }
.bar b { position: absolute; top: -.2rem; bottom: -.2rem; width: 2px; background: var(--ink); }
code { font: .875rem ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
td .bar { margin: .45rem 0 .35rem; }
ul.story { padding-left: 1.1rem; }
@media (max-width: 44rem) { table.stack caption { display: block; width: auto; } .card svg text { font-size: 16px; } }
@media print { .card { grid-template-columns: 3fr 2fr; } section { break-inside: avoid-page; }
  .bar { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def page(results: Sequence[AttackResult], *, version: str, left_out: Sequence[SkippedAttack] = ()) -> str:
    """The whole page. Everything in it that comes from data is escaped; pictures are drawn by this package alone."""
    body = "".join(_section(listed, evidence) for listed, evidence in results)
    broken = sum(evidence.breaks for _, evidence in results)
    seconds = sum(evidence.seconds for _, evidence in results)
    title = "What falls, and what stands"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{stylesheet()}{_MORE}</style>
</head>
<body>
<header><h1>{title}</h1>
<p class="lead">{len(results)} attacks on ways of protecting people in data, run by Discreet {escape_html(version)} on
generated people in {seconds:.0f} CPU seconds. {broken} of them do significantly better than chance or, if a
guarantee was claimed, better than it allows.</p>
<p class="quiet">No real people are in this data. To run an attack on your own files, use the command beside it.</p>
{"".join(map(_left_out, left_out))}</header>
<main><section aria-label="All attacks">{_overview(results)}</section>{body}</main>
<footer><p>“Significantly” means at each attack's own confidence, shown with its interval. An attack that fails proves
nothing: a better attack may exist. A guarantee holds against all attacks.</p></footer>
</body>
</html>
"""


def _left_out(one: SkippedAttack) -> str:
    listed, problem = one
    why = f"{escape_html(problem.reason)} ({escape_html(problem.hint)})"
    return f"<p><strong>Left out:</strong> {escape_html(listed.title)}, because {why}.</p>\n"


def _overview(results: Sequence[AttackResult]) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="#{escape_html(listed.name)}">{escape_html(listed.title)}</a></th>'
        f'<td data-head="success">{percent(evidence.success)}{_bar(evidence)}</td>'
        f'<td data-head="chance" class="number">{percent(evidence.chance)}</td>'
        f'<td data-head="what falls">{escape_html(listed.falls)}</td>'
        f'<td data-head="what stands">{escape_html(listed.stands)}{_protected_share(listed, evidence)}</td></tr>'
        for listed, evidence in results
    )
    caption = (
        "<caption>The mark on a bar is chance. In brackets: how often the same attack succeeds against the protection "
        "that stands, if it was tried.</caption>"
    )
    heads = "".join(
        f'<th scope="col"{" class=number" if word == "chance" else ""}>{word}</th>'
        for word in ("attack", "success", "chance", "what falls", "what stands")
    )
    table = f"{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="scroll"><table class="stack">{table}</table></div>'


def _bar(evidence: Evidence) -> str:
    """Success as a bar, with a mark at chance."""
    width, mark = (100 * min(max(value, 0.0), 1.0) for value in (evidence.success, evidence.chance))
    parts = f'<i style="width:{width:.1f}%"></i><b style="left:{mark:.1f}%"></b>'
    return f'<span class="bar{"" if evidence.breaks else " held"}" aria-hidden="true">{parts}</span>'


def _protected_share(listed: AttackEntry, evidence: Evidence) -> str:
    """How often the attack succeeds against what stands, where that was tried."""
    share = listed.protected_success(evidence)
    if listed.falls_too(evidence):
        return f' <span class="verdict falls">falls too</span> ({percent(share or 0.0)})'
    return "" if share is None else f' <span class="quiet">({percent(share)})</span>'


def _section(listed: AttackEntry, evidence: Evidence) -> str:
    name = escape_html(listed.name)
    low, high = evidence.interval
    facts = {
        "success": percent(evidence.success),
        f"{confidence_text(evidence.confidence)} confidence interval": f"{percent(low)} to {percent(high)}",
        "chance": percent(evidence.chance),
        "the claim allows": "no claim" if evidence.bound is None else percent(evidence.bound),
        "tried": f"{evidence.n:,}",
        "CPU seconds": f"{evidence.seconds:.2f}",
    }
    fact_items = "".join(f"<div><dt>{word}</dt><dd>{text}</dd></div>" for word, text in facts.items())
    story = "".join(f"<p>{escape_html(sentence.strip())}</p>" for sentence in evidence.story)
    picture = "" if evidence.picture is None else f"<figure>{_inline(evidence.picture())}</figure>"
    return f"""
<section id="{name}" aria-labelledby="{name}-title">
<div class="title"><h2 id="{name}-title">{escape_html(listed.title)}</h2>{verdict(evidence)}</div>
<div class="card"><div>{story}
<p><span class="second">Falls:</span> {escape_html(listed.falls)}.<br>
<span class="main">Stands:</span> {escape_html(listed.stands)}{_protected_share(listed, evidence)}.</p>
<p><code>discreet attack {name}</code></p></div>{picture}</div>
<dl class="facts">{fact_items}</dl>
</section>"""


def verdict(evidence: Evidence) -> str:
    """Whether what was attacked held."""
    if evidence.breaks:
        return '<span class="verdict falls">falls</span>'
    return '<span class="verdict stands">stands</span>'


def _inline(svg: str) -> str:
    """A picture inside a page: in the page's colours, without its own style, which would reach all of the page."""
    svg = re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)
    for colour, name in zip(COLOURS, ("main", "second", "third", "fourth", "fifth"), strict=True):
        svg = re.sub(rf'(fill|stroke)="{colour}"', rf'style="\1:var(--{name})"', svg)
    return svg
