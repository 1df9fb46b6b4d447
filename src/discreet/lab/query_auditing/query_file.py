"""A user's own questions: a text file, a question a line, `anna, ben, carla = 2`. The answer may be left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

MOST_LINES = 20_000
_FORM = "a text file with one query per line: anna, ben = 1"
#: Files that hold tables: their cells would be taken for people.
_TABLES = (".csv", ".tsv", ".parquet", ".json", ".toml")
_ANSWER = re.compile(r"-?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedQueries:
    """Sums over named people: a row of the matrix a question; `lines` are their lines in the file."""

    people: tuple[str, ...]
    questions: NDArray[np.bool_]
    answers: tuple[int | None, ...]
    lines: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.questions.shape != (len(self.answers), len(self.people)) or len(self.lines) != len(self.answers):
            raise ValueError("every query needs a row, a line and an answer")


def read(path: str | Path) -> AuditedQueries:
    """The questions in a file; empty lines, and what follows a #, are skipped."""
    if Path(path).suffix.lower() in _TABLES:
        raise UsageError(f"{Path(path).name!r} is a table: none of its lines is a query", hint=_FORM)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"there is no text file {str(path)!r}", hint=_FORM) from None
    return parse(text)


def parse(text: str) -> AuditedQueries:
    """Questions from text.

    >>> asked = parse("anna, ben = 1\\nben, carla")
    >>> asked.people, asked.answers, asked.questions.tolist()
    (('anna', 'ben', 'carla'), (1, None), [[True, True, False], [False, True, True]])
    """
    read_lines = [
        (number, *_question(number, line.split("#", 1)[0]))
        for number, line in enumerate(text.splitlines(), start=1)
        if line.split("#", 1)[0].strip()
    ]
    if not read_lines:
        raise UsageError("the file contains no query", hint=_FORM)
    if len(read_lines) > MOST_LINES:
        raise UsageError(f"at most {MOST_LINES:,} queries can be audited, not {len(read_lines):,}")
    if all(answer is None and len(names) == 1 for _, names, answer in read_lines):
        raise UsageError("no line of the file is a query: no line names two people or has an answer", hint=_FORM)
    people = tuple(dict.fromkeys(name for _, names, _ in read_lines for name in names))
    place = {name: number for number, name in enumerate(people)}
    questions = np.zeros((len(read_lines), len(people)), dtype=np.bool_)
    for row, (_, names, _) in enumerate(read_lines):
        questions[row, [place[name] for name in names]] = True
    return AuditedQueries(
        people=people,
        questions=questions,
        answers=tuple(answer for _, _, answer in read_lines),
        lines=tuple(number for number, _, _ in read_lines),
    )


def _question(number: int, line: str) -> tuple[tuple[str, ...], int | None]:
    left, equals, right = line.partition("=")
    names = tuple(name.strip() for name in left.split(","))
    if not all(names):
        raise UsageError(f"line {number} names nobody, or has an empty name", hint="anna, ben = 1")
    if len(set(names)) < len(names):
        raise UsageError(f"line {number} names a person twice", hint="name each person once")
    answer = right.strip()
    if equals and not _ANSWER.fullmatch(answer):
        raise UsageError(f"line {number} has an answer that is not a whole number", hint="anna, ben = 1")
    return names, int(answer) if equals else None
