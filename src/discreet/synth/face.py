"""A model's face in a notebook: what it is, what it cost, and which tables of it can be relied on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import comb

from discreet import exact, notebook
from discreet.notebook import Cell
from discreet.synth.inspect.evidence import CONFIDENCE, NEAR, Evidence
from discreet.synth.inspect.marginals import Marginal, marginals
from discreet.synth.inspect.words import percent, rounded
from discreet.synth.model import Card, Model

#: A face is drawn whenever a cell is run. So many tables are judged for one in a moment; of more, `inspect` tells.
MOST_TABLES = 400
#: So many are named.
NAMED = 6

_SIZES = {1: "single columns", 2: "pairs", 3: "threes"}
_VERDICTS = {"good": "good", "partly": "partly", "poor": "poor", "unknown": "unknown"}


def face(model: Model) -> Iterator[str]:
    """The parts of the face. Free: a function of the model, which holds noisy numbers and public facts."""
    card = model.card
    yield notebook.head(f"{card.kind} model of {card.table}: about {rounded(model.total)} rows, {_paid(card)}")
    if not model.measured:
        yield notebook.line(
            "It was fitted to nothing: its rows look like the declaration, and say nothing of the data."
        )
    elif sum(comb(len(model.attributes), size) for size in _SIZES) <= MOST_TABLES:
        yield from _judged(marginals(Evidence(model)).judged)
    else:
        yield notebook.line(
            f"{len(model.attributes):,} columns are modelled. Which tables are good: see the page below."
        )
    release = f" Release {card.release}, version {card.version}." if card.release else ""
    yield notebook.quiet(f"Free for ever: .sample(n), .project([names]), .save(path).{release}")
    yield notebook.quiet("discreet.synth.inspect.inspected(model).page() is a page of all that can be said for free.")
    for warning in card.warnings:
        yield notebook.quiet(f"note: {warning}")


def _paid(card: Card) -> str:
    if card.epsilon is None:
        return "free" if card.rho is None else f"rho {exact.show(card.rho, up=True)}"
    delta = f", delta {exact.show(card.delta, up=True)}" if card.delta else ""
    return f"epsilon {exact.show(card.epsilon, up=True)}{delta}"


def _judged(found: Sequence[Marginal]) -> Iterator[str]:
    rows = []
    for size, words in _SIZES.items():
        verdicts = [each.verdict for each in found if len(each.columns) == size]
        if verdicts:
            counts = [verdicts.count(verdict) for verdict in _VERDICTS]  # type: ignore[arg-type]
            rows.append([Cell(text=words), *(Cell(text=f"{count:,}", number=True) for count in counts)])
    yield notebook.table(["tables of", *_VERDICTS.values()], rows)
    for words, verdict in (
        ("Rely on", "good"),
        ("Common cells only", "partly"),
        ("Too few rows for the noise", "poor"),
    ):
        named = [each for each in found if each.verdict == verdict]
        if named:
            yield notebook.line(f"{words}: {_names(named)}")
    yield notebook.quiet(
        f"Good: counts are expected within {percent(NEAR)}, at {percent(CONFIDENCE)}, for nine in ten of a table's "
        "rows. What was not measured together is a guess from other tables."
    )


def _names(found: Sequence[Marginal]) -> str:
    shown: Iterable[str] = (" × ".join(each.columns) for each in found[:NAMED])
    more = f", and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return ", ".join(shown) + more
