"""A model's face in a notebook: what it is, what it cost, and which tables of it can be relied on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import comb

from discreet import exact
from discreet.present import notebook
from discreet.present.notebook import NotebookCell
from discreet.synth.inspect.marginal_verdicts import JudgedMarginal, judge_marginals
from discreet.synth.inspect.model_evidence import CONFIDENCE, NEAR, ModelEvidence
from discreet.synth.inspect.report_text import percent, rounded
from discreet.synth.model_contents import ModelCard, ModelContents

#: A face is drawn whenever a cell is run. So many tables are judged for one in a moment; of more, `inspect` tells.
MOST_TABLES = 400
#: So many are named.
NAMED = 6

_SIZES = {1: "single columns", 2: "pairs", 3: "triples"}
_VERDICTS = {"good": "good", "partly": "partly", "poor": "poor", "unknown": "unknown"}


def notebook_parts(model: ModelContents) -> Iterator[str]:
    """The parts of the face. Free: a function of the model, which holds noisy numbers and public facts."""
    card = model.card
    yield notebook.head(f"{card.kind} model of {card.table}: about {rounded(model.total)} rows, {_paid(card)}")
    if not model.measured:
        yield notebook.line("It was made from the declaration only: its rows say nothing about the data.")
    elif sum(comb(len(model.attributes), size) for size in _SIZES) <= MOST_TABLES:
        yield from _verdict_table(judge_marginals(ModelEvidence(model)).judged)
    else:
        yield notebook.line(
            f"{len(model.attributes):,} columns are modelled. To see which tables are good, make the page below."
        )
    release = f" Release {card.release}, version {card.version}." if card.release else ""
    yield notebook.small_print(f"Always free: .sample(n), .project([names]), .save(path).{release}")
    yield notebook.small_print(
        "discreet.synth.inspect.inspect_model(model).page() makes a free report of the model's quality."
    )
    for warning in card.warnings:
        yield notebook.small_print(f"note: {warning}")


def _paid(card: ModelCard) -> str:
    if card.epsilon is None:
        return "free" if card.rho is None else f"rho {exact.show(card.rho, up=True)}"
    delta = f", delta {exact.show(card.delta, up=True)}" if card.delta else ""
    return f"epsilon {exact.show(card.epsilon, up=True)}{delta}"


def _verdict_table(judged_marginals: Sequence[JudgedMarginal]) -> Iterator[str]:
    rows = []
    for size, words in _SIZES.items():
        verdicts = [each.verdict for each in judged_marginals if len(each.columns) == size]
        if verdicts:
            counts = [verdicts.count(verdict) for verdict in _VERDICTS]  # type: ignore[arg-type]
            rows.append([NotebookCell(text=words), *(NotebookCell(text=f"{count:,}", number=True) for count in counts)])
    yield notebook.table(["tables of", *_VERDICTS.values()], rows)
    for words, verdict in (
        ("Good", "good"),
        ("Partly good: only the common cells", "partly"),
        ("Too few rows compared with the noise", "poor"),
    ):
        named = [each for each in judged_marginals if each.verdict == verdict]
        if named:
            yield notebook.line(f"{words}: {_names(named)}")
    yield notebook.small_print(
        f"Good: counts are expected to be within {percent(NEAR)} for at least 90% of a table's rows, at "
        f"{percent(CONFIDENCE)} confidence. For columns that were not measured together, the model guesses from other "
        "tables."
    )


def _names(judged_marginals: Sequence[JudgedMarginal]) -> str:
    shown: Iterable[str] = (" × ".join(each.columns) for each in judged_marginals[:NAMED])
    more = f", and {len(judged_marginals) - NAMED:,} more" if len(judged_marginals) > NAMED else ""
    return ", ".join(shown) + more
