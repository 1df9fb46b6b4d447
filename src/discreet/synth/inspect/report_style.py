"""How our pages look: one palette, one sheet. Pages hold no colour of their own."""

from __future__ import annotations

#: ink on paper; `quiet` for what is said in passing, `main` for the model and what is good, `second` for measurements
#: and what is not, `heat` behind text. Every text colour has a contrast of at least 4.5 on its paper.
LIGHT = {
    "paper": "#fcfbf8",
    "ink": "#1c2025",
    "quiet": "#5a626b",
    "rule": "#dcd9d2",
    "main": "#21597d",
    "second": "#9c4a1a",
    "heat": "#3a78a0",
}
DARK = {
    "paper": "#14171a",
    "ink": "#e7e5df",
    "quiet": "#a5acb4",
    "rule": "#363c43",
    "main": "#8bbadb",
    "second": "#e3a678",
    "heat": "#3f7cab",
}

_SHEET = """
*, *::before, *::after { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI",
  Roboto, "Noto Sans", sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
main, body > header, body > footer { max-width: 76rem; margin: 0 auto; padding: 0 clamp(1rem, 4vw, 3rem); }
body > header { padding-top: clamp(2rem, 6vw, 4.5rem); }
body > footer { padding-bottom: 4rem; color: var(--quiet); font-size: .875rem; }
h1, h2 { font-family: Charter, "Bitstream Charter", Georgia, "Noto Serif", serif; font-weight: 500; line-height: 1.2; }
h1 { font-size: clamp(1.75rem, 4.5vw, 2.6rem); margin: 0 0 .75rem; letter-spacing: -.01em; }
h2 { font-size: 1.5rem; margin: 0 0 .75rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 0 0 .35rem; }
p, ul, dl { margin: 0 0 1rem; }
p, li { max-width: 44rem; }
a { color: var(--main); text-underline-offset: .15em; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; list-style: none; font-size: .9375rem; }
section { border-top: 1px solid var(--rule); padding: 2.5rem 0 1.5rem; }
.lead { font-size: 1.125rem; }
.quiet { color: var(--quiet); }
.small { font-size: .875rem; }
p.small { margin-bottom: .25rem; }
figure h3:not(:first-child), .plain + h3 { margin-top: 1.5rem; }
.main { color: var(--main); }
.second { color: var(--second); }
.grid { display: grid; gap: 2rem 2.5rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); }
.halves { display: grid; gap: 2rem 3rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.facts { display: grid; gap: 1rem 2rem; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr));
  margin: 1.5rem 0; }
.facts dt { color: var(--quiet); font-size: .8125rem; }
.facts dd { margin: 0; font-size: 1.125rem; }
figure { margin: 0; break-inside: avoid; min-width: 0; }
figcaption { color: var(--quiet); font-size: .8125rem; line-height: 1.45; margin-top: .35rem; max-width: 30rem; }
svg { display: block; width: 100%; height: auto; max-width: 30rem; overflow: visible; }
svg text { fill: var(--ink); font: 11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
svg .note { fill: var(--quiet); }
svg .bar { fill: var(--main); fill-opacity: .38; }
svg .dot { fill: var(--second); }
svg .whisker { stroke: var(--second); stroke-width: 1; fill: none; }
svg .rule { stroke: var(--rule); stroke-width: 1; fill: none; }
svg .cell { fill: var(--heat); }
svg .frame { fill: none; stroke: var(--rule); }
svg .held { fill: none; stroke: var(--ink); stroke-width: 1; }
svg .arc { fill: none; stroke: var(--main); }
svg .arc.three { stroke: var(--second); stroke-dasharray: 4 2; }
svg .node { fill: var(--ink); }
.scroll { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .9375rem; min-width: min(100%, 34rem); }
caption { text-align: left; color: var(--quiet); font-size: .8125rem; padding-bottom: .4rem; }
th, td { text-align: left; padding: .35rem 1.25rem .35rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { font-weight: 500; }
thead th { color: var(--quiet); font-size: .8125rem; vertical-align: bottom; }
tbody th { max-width: 20rem; }
td.number { white-space: nowrap; }
.number { text-align: right; }
section > ul > li { margin-bottom: .6rem; }
.plain { list-style: none; padding: 0; }
.plain li { padding: .15rem 0; }
/* On a small screen a table that holds words stands as blocks, each cell after the name of its column. */
@media (max-width: 44rem) {
  table { font-size: .875rem; min-width: 0; width: 100%; }
  th, td { padding-right: .6rem; }
  tbody th { max-width: 9rem; }
  .stack, .stack tbody, .stack tr, .stack th, .stack td { display: block; text-align: left; border: 0;
    padding: .05rem 0; max-width: none; }
  .stack thead { display: none; }
  .stack th { font-weight: 600; }
  .stack tr { border-bottom: 1px solid var(--rule); padding: .6rem 0; }
  .stack [data-head]::before { content: attr(data-head) ": "; color: var(--quiet); }
}
details { margin: 0 0 1rem; }
summary { cursor: pointer; color: var(--main); }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .35em; background: var(--main); opacity: .38; }
.key.dot { border-radius: 50%; width: .5em; height: .5em; background: var(--second); opacity: 1; }
@media print {
  body { font-size: 10.5pt; }
  nav { display: none; }
  tr, figure, .facts div { break-inside: avoid-page; }
  h2, h3 { break-after: avoid-page; }
  section { padding: 1.25rem 0 .5rem; }
  .scroll { overflow: visible; }
}
"""


def stylesheet() -> str:
    """The style sheet: light on light systems and on paper, dark on dark ones."""
    return (
        f":root {{ {_variables(LIGHT)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}\n{_SHEET}"
    )


def _variables(palette: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())
