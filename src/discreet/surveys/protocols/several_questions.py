"""Several questions at once: each device answers one that it draws, or all of them with a part of epsilon each."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits, system
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import (
    bytes_needed,
    bytes_to_numbers,
    check_report_width,
    numbers_to_bytes,
)
from discreet.surveys.protocols.estimate import Estimate, Mean
from discreet.surveys.protocols.grid_numbers import GridRandomizer
from discreet.surveys.protocols.protocol_registry import PROTOCOL_CLASSES
from discreet.surveys.protocols.randomizer import Randomizer, Reports, Values
from discreet.surveys.protocols.support_law import SupportLaw

#: How a question is told: something that makes its randomizer when called with `epsilon=`, for example
#: `partial(RandomizedResponse, ["yes", "no"])`, or `{"protocol": ..., "options": ...}` as in parameters.
QuestionDesign = Callable[..., Randomizer] | Mapping[str, Any]
#: One list or array of answers for each question.
Columns = Mapping[str, Values]


class RandomizerMixture:
    """Reports of one of several randomizers, drawn alike: its number, its report, and zeros up to the longest.

    Guarantee: as private as the least private of them.
    Because: the number is drawn without a look at the answer, and given it the report is that randomizer's.
    """

    __slots__ = ("_head", "parts", "width")

    def __init__(self, parts: Sequence[Randomizer]) -> None:
        self.parts = tuple(parts)
        self._head = bytes_needed(len(self.parts) - 1)
        self.width = self._head + max(part.width for part in self.parts)

    def draw_reports(self, answers: Callable[[int, NDArray[np.intp]], Values], size: int, *, bits: Bits) -> Reports:
        """`answers(part, lanes)` are what the respondents of those lanes tell that part."""
        drawn = uniform.whole_below(len(self.parts), size, bits=bits)
        made = np.zeros((size, self.width), dtype=np.uint8)
        made[:, : self._head] = numbers_to_bytes(drawn, self._head)
        for number, part in enumerate(self.parts):
            lanes = np.flatnonzero(drawn == number)
            if lanes.size:
                made[lanes, self._head : self._head + part.width] = part.draw_reports(answers(number, lanes), bits=bits)
        return made

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        number = bytes_to_numbers(reports[:, : self._head])
        good = np.zeros(len(reports), dtype=np.bool_)
        for place, part in enumerate(self.parts):
            lanes = np.flatnonzero(number == place)
            end = self._head + part.width
            inner = np.ascontiguousarray(reports[lanes, self._head : end])
            good[lanes] = part.valid(inner) & ~reports[lanes, end:].any(axis=1)
        return good

    def split(self, reports: Reports) -> list[Reports]:
        """For each part the reports that are its own."""
        number = bytes_to_numbers(reports[:, : self._head])
        return [
            np.ascontiguousarray(reports[number == place, self._head : self._head + part.width])
            for place, part in enumerate(self.parts)
        ]


class _SeveralQuestions(Randomizer):
    """What both ways have in common: named questions, and an answer to each."""

    __slots__ = ("questions",)

    questions: dict[str, Randomizer]

    def _make_questions(self, questions: Mapping[str, QuestionDesign], epsilon: Fraction) -> None:
        if not isinstance(questions, Mapping) or len(questions) < 2 or not all(map(_is_name, questions)):
            raise UsageError("There must be at least two questions, each with a name.")
        self.questions = {name: _make_randomizer(question, epsilon) for name, question in questions.items()}

    def draw_reports(self, values: Values, *, bits: Bits) -> Reports:
        """Each answer is a mapping from every question's name to the answer to it."""
        return self.draw_column_reports(self._columns(values), bits=bits)

    def _columns(self, values: Values) -> Columns:
        for value in values:
            if not isinstance(value, Mapping) or value.keys() != self.questions.keys():
                raise UsageError(f"An answer must have one value for each of: {', '.join(self.questions)}.")
        return {name: [value[name] for value in values] for name in self.questions}

    def check(self, values: Values) -> None:
        """All answers, those to questions that will not be drawn too."""
        for name, column in self._columns(values).items():
            self.questions[name].check(column)

    def canonical(self, value: Any) -> str:
        columns = self._columns([value])
        return json.dumps({name: each.canonical(columns[name][0]) for name, each in sorted(self.questions.items())})

    def draw_column_reports(self, columns: Columns, *, bits: Bits | None = None) -> Reports:
        """The same for many at once: an array of answers for each question."""
        if columns.keys() != self.questions.keys() or len({len(column) for column in columns.values()}) != 1:
            raise UsageError(f"These questions must have the same number of answers: {', '.join(self.questions)}.")
        for name, question in self.questions.items():
            question.check(columns[name])  # before any coin is flipped: a refusal tells nothing of the draw
        return self._draw_checked_reports(columns, bits or system())

    @abstractmethod
    def _draw_checked_reports(self, columns: Columns, bits: Bits) -> Reports:
        """The reports, from answers that were checked."""

    def options(self) -> dict[str, Any]:
        return {
            "questions": {
                name: {"protocol": question.protocol, "options": question.options()}
                for name, question in self.questions.items()
            }
        }

    def numbers(self) -> dict[str, Any]:
        return {
            "questions": [
                {"name": name, "protocol": question.protocol, "width": question.width, "numbers": question.numbers()}
                for name, question in self.questions.items()
            ]
        }


class Sampled(_SeveralQuestions):
    """Each device draws one question and answers only that one, with the whole epsilon.

    Guarantee: epsilon-differentially private for each report, all questions together.
    Because: see `RandomizerMixture`.
    Draws: first a whole number below the number of questions; then those of that question.
    Compared with `Split`, fewer people answer each question, with much less noise: usually the better way.
    """

    __slots__ = ("_one_of",)

    protocol = "sampled"

    def __init__(self, questions: Mapping[str, QuestionDesign], *, epsilon: object) -> None:
        self.requested_epsilon = coins.check_epsilon(epsilon)
        self._make_questions(questions, self.requested_epsilon)
        self._one_of = RandomizerMixture(tuple(self.questions.values()))
        self.epsilon = max(question.epsilon for question in self.questions.values())
        self.width = check_report_width(self._one_of.width, self.protocol)

    def _draw_checked_reports(self, columns: Columns, bits: Bits) -> Reports:
        names = tuple(self.questions)
        size = len(columns[names[0]])
        return self._one_of.draw_reports(
            lambda place, lanes: _select_lanes(columns[names[place]], lanes), size, bits=bits
        )

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return self._one_of.valid(reports)

    def estimate(
        self, reports: Reports | Sequence[bytes], words: Mapping[str, Sequence[str]] | None = None
    ) -> dict[str, Any]:
        """Estimate each question for *all* respondents. `words` are the candidates of open questions.

        Unbiased, given how many drew each question. The variance is that of the coins and of the draw: those who
        drew a question are a random part of all. (What is neither an Estimate nor a Mean, such as a tree's
        intervals, stays an estimate about those who drew the question.)
        """
        report_matrix = self.matrix(reports)
        parts = self._one_of.split(report_matrix)
        return {
            name: self._estimate_about_all(name, part, len(report_matrix), (words or {}).get(name))
            for name, part in zip(self.questions, parts, strict=True)
        }

    def _estimate_about_all(self, name: str, reports: Reports, n: int, words: Sequence[str] | None) -> Any:
        if not len(reports):
            raise UsageError(f"No device has drawn the question {name!r} yet.")
        question: Any = self.questions[name]
        estimate = question.estimate(reports) if words is None else question.estimate(reports, words)
        return _scale_to_all(estimate, question, n)


class Split(_SeveralQuestions):
    """Each device answers every question, each with an equal part of epsilon.

    Guarantee: epsilon-differentially private for each report, all questions together.
    Because: the parts of a report are independent, so their likelihoods multiply and their epsilons add.
    Draws: those of the first question, then those of the second, and so on.
    """

    __slots__ = ()

    protocol = "split"

    def __init__(self, questions: Mapping[str, QuestionDesign], *, epsilon: object) -> None:
        self.requested_epsilon = coins.check_epsilon(epsilon)
        self._make_questions(questions, self.requested_epsilon / max(len(questions), 1))
        # None costs more than its part, so that the sum is at most what was asked for.
        self.epsilon = sum((question.epsilon for question in self.questions.values()), Fraction(0))
        self.width = check_report_width(sum(question.width for question in self.questions.values()), self.protocol)

    def _draw_checked_reports(self, columns: Columns, bits: Bits) -> Reports:
        return np.hstack([question.draw_reports(columns[name], bits=bits) for name, question in self.questions.items()])

    def split(self, reports: Reports) -> list[Reports]:
        """For each question its part of every report."""
        ends = np.cumsum([question.width for question in self.questions.values()])[:-1]
        return [np.ascontiguousarray(part) for part in np.split(reports, ends, axis=1)]

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        parts = zip(self.questions.values(), self.split(reports), strict=True)
        return np.asarray(np.all([question.valid(part) for question, part in parts], axis=0))

    def estimate(
        self, reports: Reports | Sequence[bytes], words: Mapping[str, Sequence[str]] | None = None
    ) -> dict[str, Any]:
        """Estimate each question. `words` are the candidates of open questions."""
        estimates: dict[str, Any] = {}
        for (name, made), part in zip(self.questions.items(), self.split(self.matrix(reports)), strict=True):
            question: Any = made
            estimates[name] = (
                question.estimate(part, words[name]) if words and name in words else question.estimate(part)
            )
        return estimates


def _scale_to_all(estimate: Any, question: Any, n: int) -> Any:
    if isinstance(estimate, Estimate):
        return scale_estimate_to_all(estimate, n)
    if isinstance(estimate, dict):  # several questions in one
        return {name: _scale_to_all(each, question.questions[name], n) for name, each in estimate.items()}
    return scale_mean_to_all(estimate, question, n) if isinstance(estimate, Mean) else estimate


def scale_estimate_to_all(estimate: Estimate, n: int) -> Estimate:
    """An estimate about `told.n` respondents, drawn at random from n, as one about all n of them.

    Because: the count among those drawn, times n / drawn, has the count among all as its mean, and
        n^2 / drawn * (1 - drawn / n) * S as its variance, S = n / (n - 1) f (1 - f) where f is the true share.
    """
    drawn = estimate.n
    shares = np.clip(estimate.counts / drawn, 0.0, 1.0)
    sampling = n**2 / drawn * (1 - drawn / n) * n / max(n - 1, 1) * shares * (1 - shares)
    return replace(
        estimate,
        n=n,
        counts=estimate.counts * (n / drawn),
        variances=estimate.variances * (n / drawn) ** 2 + sampling,
        reach=estimate.reach * n / max(drawn - 1, 1),  # a liar who leaves or joins changes how many drew it, too
        law=estimate.law.about(n)
        if isinstance(estimate.law, SupportLaw)
        else estimate.law and estimate.law.of_part(drawn, n),
    )


def scale_mean_to_all(mean: Mean, question: Randomizer, n: int) -> Mean:
    """The same for a mean. Values in [low, high] of mean m have a variance of at most (m - low) (high - m).

    A liar who leaves the question or joins it moves the mean no further than one who changes a report: a mean of
    m guesses is (guess - mean of the others) / m away from that of the others.
    """
    if not isinstance(question, GridRandomizer):
        raise TypeError("a mean needs numbers on a grid")
    low, high = float(question.low), float(question.high)
    middle = min(max(mean.value, low), high)
    draw = n / max(n - 1, 1) * (1 - mean.n / n) / mean.n
    score = replace(mean.score, linear=mean.score.linear + draw * (high - low), square=mean.score.square - draw)
    return replace(mean, n=n, variance=mean.variance + draw * (middle - low) * (high - middle), score=score)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def _make_randomizer(question: QuestionDesign, epsilon: Fraction) -> Randomizer:
    if not isinstance(question, Mapping):
        return question(epsilon=epsilon)
    kind: Any = PROTOCOL_CLASSES.get(str(question.get("protocol")))
    if kind is None:
        raise UsageError(f"There is no protocol {question.get('protocol')!r}.")
    try:
        made: Randomizer = kind(epsilon=epsilon, **question.get("options", {}))
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"These are not options of {kind.protocol}.") from error
    return made


def _select_lanes(column: Values, lanes: NDArray[np.intp]) -> Values:
    return column[lanes] if isinstance(column, np.ndarray) else [column[lane] for lane in lanes.tolist()]
