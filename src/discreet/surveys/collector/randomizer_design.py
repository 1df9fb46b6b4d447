"""From what an owner says about the answers to a randomizer, and why this one."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from fractions import Fraction

from discreet import exact
from discreet.errors import Flag, Message, UsageError
from discreet.surveys.collector.survey_definition import protocol_classes
from discreet.surveys.protocols.choice_randomizer import check_choices
from discreet.surveys.protocols.coins import check_epsilon
from discreet.surveys.protocols.protocol_registry import best_protocol
from discreet.surveys.protocols.randomizer import Randomizer

#: Letters that a terminal or a page would obey: controls, ends of lines, changes of direction.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: How many people are expected where nothing is said. It matters only where protocols are nearly alike.
EXPECTED_PEOPLE = 10_000
#: The protocol that has one epsilon, which need not be said: ln 3.
FIXED_EPSILON = "two-coins"
#: Protocols that the JavaScript client does not support: their respondents use a program.
NOT_IN_BROWSERS = frozenset({"puzzle"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDomain:
    """What an answer can be: one of `choices`, or a number from `low` to `high`, or any word."""

    choices: tuple[str, ...] | None = None
    low: str | None = None
    high: str | None = None
    step: str | None = None
    words: bool = False

    def __post_init__(self) -> None:
        number = (self.low, self.high, self.step) != (None, None, None)
        if (self.choices is not None) + number + self.words != 1:
            raise UsageError(
                "The kind of answer is missing: one of several choices, a number, or any word.",
                hint=Message(
                    Flag("choices", ("yes", "no")),
                    ", or ",
                    Flag("low", 0),
                    " ",
                    Flag("high", 100),
                    " ",
                    Flag("step", 1),
                    ", or ",
                    Flag("words"),
                ),
            )
        if number and None in (self.low, self.high, self.step):
            raise UsageError(
                "A number needs its bounds and its step.",
                hint=Message(Flag("low", 0), " ", Flag("high", 100), " ", Flag("step", 1)),
            )
        if self.choices is not None and any(map(CONTROL_CHARACTERS.search, check_choices(self.choices))):
            raise UsageError("A choice must be one line of text without control characters.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizerDesign:
    """A randomizer, and one sentence that says why it."""

    randomizer: Randomizer
    because: str


def design_randomizer(
    answers: AnswerDomain, *, epsilon: object, protocol: str | None = None, people: int = EXPECTED_PEOPLE
) -> RandomizerDesign:
    """The protocol that was asked for, or the best one for such answers."""
    if protocol is not None:
        randomizer = _make_randomizer(protocol, answers, epsilon)
        return RandomizerDesign(randomizer=randomizer, because="you chose it" + _unused(randomizer, epsilon))
    if answers.choices is not None:
        pick = best_protocol(len(answers.choices), check_epsilon(epsilon), people)
        return RandomizerDesign(randomizer=_make_randomizer(pick.protocol, answers, epsilon), because=pick.because)
    if answers.words:
        because = "of the protocols that accept any word, it has the shortest report, and browsers support it"
        return RandomizerDesign(randomizer=_make_randomizer("hadamard-sketch", answers, epsilon), because=because)
    because = "it has the smallest worst-case error of the mean"
    return RandomizerDesign(randomizer=_make_randomizer("hybrid", answers, epsilon), because=because)


def _unused(randomizer: Randomizer, epsilon: object) -> str:
    """Two coins always cost ln 3, whatever was offered."""
    if epsilon is None or randomizer.protocol != FIXED_EPSILON:
        return ""
    offered = check_epsilon(epsilon)
    if offered <= randomizer.epsilon + Fraction(1, 100):  # 1.1, for ln 3
        return ""
    return f"; its two fair coins always cost epsilon ln 3, so the rest of {exact.show(offered)} is not used"


def _make_randomizer(protocol: str, answers: AnswerDomain, epsilon: object) -> Randomizer:
    kind = protocol_classes().get(protocol)
    if kind is None:
        raise UsageError(f"There is no protocol {protocol[:40]!r}.", hint=f"one of {', '.join(protocol_classes())}")
    given: dict[str, object] = {} if epsilon is None and protocol == FIXED_EPSILON else {"epsilon": epsilon}
    if answers.choices is not None:
        given["choices"] = answers.choices
    elif not answers.words:
        given |= {"low": answers.low, "high": answers.high, "step": answers.step}
    if not _fits(kind, given):
        fitting = [name for name, other in protocol_classes().items() if _fits(other, given)]
        raise UsageError(f"{protocol} does not support this kind of answer.", hint=f"one of {', '.join(fitting)}")
    return kind(**given)


def _fits(kind: type[Randomizer], given: dict[str, object]) -> bool:
    """Whether this kind can be made from what was said, all of it, and from nothing that was not."""
    try:
        inspect.signature(kind).bind(**given)
    except TypeError:
        return False
    return True
