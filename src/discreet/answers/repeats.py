"""Repeats: a statement that was answered in a batch is answered from it, free, when it is asked alone.

Because: what the batch stored was charged, and reading it again is post-processing. It is given only to a question that
the batch asked, in any spelling: whoever asks for less than was asked before gets the exactness that they pay for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from discreet.answers.refine import AnswerReading
from discreet.errors import Command, Flag, Message, Refused, Statement, UsageError
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import Measurement
from discreet.plan.inquiry import Inquiry
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_text import split_statements

#: How a statement's text is read.
Reads = Callable[[str], ParsedQuery]

#: How the text of a release begins that no SQL asked for.
BOUNDS_TEXT_START = "discreet bounds "

#: What stands between the statements of a batch; the first line's end closes a comment.
STATEMENT_SEPARATOR = "\n;\n"

#: Answers seen to be of one statement. What is stored never changes, and ids are drawn at random, once for ever.
_SINGLE: set[str] = set()


def in_batches(query: ParsedQuery, *, version: Version, curator: Curator, reads: Reads) -> Iterator[AnswerReading]:
    """Readings of a question in the stored answers of batches that asked it."""
    own, begins = query.inquiry.question(), query.inquiry.groups()
    for (table, number, question), ids in list(curator.ledger.state.questions.items()):
        if (table, number) != (version.table, version.number) or question == own or not question.startswith(begins):
            continue
        for id_ in ids:
            if id_ in _SINGLE:
                continue
            if r"\n" not in curator.ledger.answer(id_):  # one statement on one line: no need to take it apart
                _SINGLE.add(id_)
                continue
            measurement = curator.stored_measurement(id_)
            whole = _batch_inquiry(measurement, own, reads=reads)
            if whole is not None and whole.question() == question:
                yield AnswerReading(query=query, measurement=measurement, within=whole)


def _batch_inquiry(measurement: Measurement, own: str, *, reads: Reads) -> Inquiry | None:
    """All that a batch measured over its groups; None where it is no batch or did not ask this question."""
    texts = split_statements(measurement.text)
    if len(texts) < 2:
        return None
    try:
        inquiries = [reads(text).inquiry for text in texts]
    except Refused:  # a public table that it named has changed
        return None
    return merged_inquiry(inquiries) if own in [inquiry.question() for inquiry in inquiries] else None


def read_stored_queries(measurement: Measurement, *, reads: Reads) -> tuple[Inquiry, list[ParsedQuery]] | None:
    """All that a stored answer measured, and the statements that asked for it; None where they cannot be read now."""
    try:
        queries = [reads(text) for text in split_statements(measurement.text)]
    except (Refused, UsageError):  # something that it named has changed
        return None
    return (merged_inquiry([each.inquiry for each in queries]), queries) if queries else None


def merged_inquiry(inquiries: Sequence[Inquiry]) -> Inquiry:
    """What several questions over the same groups measure, each thing once."""
    return replace(
        inquiries[0],
        statistics=tuple(dict.fromkeys(part for inquiry in inquiries for part in inquiry.statistics)),
        quantiles=tuple(dict.fromkeys(part for inquiry in inquiries for part in inquiry.quantiles)),
    )


def single_statement(measurement: Measurement) -> str:
    """The one statement of a release that is to be made more precise; refuses those that cannot be, with what can."""
    texts = split_statements(measurement.text)
    if measurement.text.startswith(BOUNDS_TEXT_START):
        table, _, switch = measurement.text.removeprefix(BOUNDS_TEXT_START).partition(" --")
        switches = [Flag(switch, True)] if switch else []
        raise UsageError(
            f"release {measurement.id} was made by {measurement.text!r}, which finds bounds step by step",
            hint=Message("run ", Command("bounds", table, *switches, Flag("epsilon", "E")), " again, with a larger E"),
        )
    if len(texts) != 1:
        raise not_a_single_statement(measurement.id, texts)
    return texts[0]


def not_a_single_statement(id_: str, texts: Sequence[str]) -> UsageError:
    """The refusal to make the statements of a batch more precise."""
    what = f"{len(texts)} statements of a batch together" if len(texts) > 1 else "a statement whose numbers share noise"
    return UsageError(
        f"release {id_} answers {what}; only the answer to a single statement can be made more precise",
        hint=Message(
            "run ",
            Command("query", Flag("fresh", True), Flag("epsilon", "E"), Statement(" ".join(texts[0].split()))),
            ", then ",
            Command("again"),
            " on that release",
        ),
    )
