"""What the engine says in words of the command line, in words that hold on a page and in the API alike.

Sentences come from below, where the command line speaks first. A command that there is no page for stays a command, and
it is said whose it is; an option is told by the name that forms and requests know it by.
"""

from __future__ import annotations

import re

#: In this order. What is said of a command that has a page or a route, as that.
_REPLACEMENTS = (
    (re.compile(r": discreet query -f FILE\b"), ""),
    (re.compile(r"\bdiscreet again (r-[\w-]+) adds to it\b"), r"measuring \1 again adds to it"),
    (re.compile(r"--fresh draws new noise\b"), "asking with fresh draws new noise"),
    (re.compile(r"\bdiscreet ledger show lists them\b"), "the list of releases has them"),
    (re.compile(r"\bdiscreet histogram counts\b"), "a histogram counts"),
    (re.compile(r"\bdiscreet survey list, to see all surveys\b"), "see the list of surveys"),
    (re.compile(r"\bdiscreet budget grant raises\b"), "an owner raises"),
    (re.compile(r"`discreet budget grant` more\b"), "grant more"),
)
#: What only the owner can do, beside the data.
_OWNER_COMMAND = re.compile(r"`?\bdiscreet (?:add|bounds|budget|forget|init|ledger|refresh|release|survey)\b")
_FLAG = re.compile(r"(?<![\w-])--(epsilon|within|delta|confidence|fresh|only|horizon)(?![\w-])")


def without_cli_terms(sentence: str) -> str:
    """A sentence or a hint without the command line's own words.

    >>> without_cli_terms("--epsilon 0.1, or --within 50; one of the two")
    'epsilon 0.1, or within 50; one of the two'
    >>> without_cli_terms("what lies beyond is left out, and discreet bounds visits --report estimates how much")
    "what lies beyond is left out, and on the owner's command line discreet bounds visits --report estimates how much"
    """
    for pattern, instead in _REPLACEMENTS:
        sentence = pattern.sub(instead, sentence)
    command = _OWNER_COMMAND.search(sentence)
    if command is None:
        return _FLAG.sub(r"\1", sentence)
    if "owner" in sentence:
        return sentence
    return f"{sentence[: command.start()]}on the owner's command line {sentence[command.start() :]}"
