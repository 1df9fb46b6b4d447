"""The talk of `discreet add` on a terminal: what was seen, whose row it is, the budget, what each column is.

Nothing is written before the owner has read how the declaration reads and said yes. All that is typed here can be given
by flags: --person, --rows-per-person, --epsilon, and --column with the same lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet import exact
from discreet.accounting.guarantee import large_limit_sentence
from discreet.engines.file_kind import file_kind
from discreet.engines.file_source import find
from discreet.engines.layout_detection import tables_in
from discreet.errors import DiscreetError, UsageError
from discreet.present.cell_text import visible_text
from discreet.project.budget import budget_of
from discreet.project.declaration_language import read_line
from discreet.schema.source_layout import LAYOUT_KEYS, read_layout

if TYPE_CHECKING:
    from discreet.project.table_draft import TableDraft
    from discreet.schema.schema import Budget

#: So many columns are offered as the person; any other can be typed.
MOST_OFFERED = 8
#: So many sheets are listed; any other can be typed.
MOST_SHEETS = 40

_MORE_WORDS = """\
Type what is publicly known of the columns, several at once, without looking at the data. Bounds and words that you type
are written down and become public. For example:
  age, height: 0..120     sex: f, m     sex: 1=male, 2=female     smoker: yes/no     notes: skip
One line can say several of these: age: 0..120; sex: f, m. An empty line ends this."""


def ask_sheet(file: Path, *, read: Callable[[str], str] = input, say: Callable[[str], None] = print) -> str | None:
    """Which of the sheets or tables in a file is meant; None where there is no choice, or whoever reads it says why."""
    names: tuple[str, ...] = ()
    with suppress(DiscreetError, OSError):
        names = tables_in(file) if file.is_file() else ()
    if len(names) < 2:
        return None
    say(visible_text(f"{file.name} has {len(names):,} {'sheets' if file_kind(file) == 'excel' else 'tables'}:"))
    for number, name in enumerate(names[:MOST_SHEETS], start=1):
        say(visible_text(f"  {number}  {name}"))
    while True:
        try:
            typed = read("which one? number or name [1]: ").strip() or "1"
        except EOFError:
            raise UsageError("nothing was written, because this was not confirmed") from None
        if typed in names:
            return typed
        if typed.isdecimal() and typed.isascii() and 0 < int(typed[:6]) <= len(names):
            return names[int(typed[:6]) - 1]
        say(visible_text(f"  there is no {typed[:60]!r} in it"))


def can_talk() -> bool:
    """Whether a person sits at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@dataclass(slots=True, kw_only=True)
class AddTalk:
    """The questions about one draft. `read` asks for a line, `say` prints one.

    `answered`: the settings that flags gave, about which nothing is asked. `inherited`: the project's own budget.
    """

    draft: TableDraft
    folder: Path
    answered: Collection[str] = ()
    inherited: Budget | None = None
    read: Callable[[str], str] = input
    say: Callable[[str], None] = print

    def run(self) -> TableDraft:
        """The draft as the owner wants it. Refused where they do not want it written."""
        try:
            self._say_what_was_seen()
            if not self.draft.settings.get("public"):
                self._ask_person()
                self._ask_rows()
                self._ask_budget()
            self._ask_columns()
            self._confirm()
        except EOFError:
            raise UsageError("nothing was written, because this was not confirmed") from None
        return self.draft

    def _say(self, text: str = "") -> None:
        self.say(visible_text(text, keep="\n"))

    def _line(self, prompt: str) -> str:
        return self.read(visible_text(prompt)).strip()

    def _say_what_was_seen(self) -> None:
        columns = len(self.draft.source_columns)
        plural = "column" if columns == 1 else "columns"
        seen = [f"{self.draft.settings['source']}: {columns:,} {plural}", *_layout_words(self.draft, self.folder)]
        self._say(", ".join(seen))
        for sentence in (*self.draft.read_from_data, *self.draft.public_facts):
            self._say(f"  {sentence}")

    def _ask_person(self) -> None:
        if "person" in self.draft.settings or {"person", "ends"} & set(self.answered):
            return
        offered = self.draft.person_candidates[:MOST_OFFERED]
        self._say("\nWhose row is it? A person is protected with all of their rows.")
        self._say("  0  each row is a different person")
        for number, candidate in enumerate(offered, start=1):
            source = " (read from the data)" if candidate.is_from_data else ""
            self._say(f"  {number}  rows with the same {candidate.column!r} are one person's: {candidate.why}{source}")
        default = "1" if offered and offered[0].is_likely else "0"
        while True:
            typed = self._line(f"number, or name of another column [{default}]: ") or default
            if typed == "0":
                return
            if typed.isdecimal() and typed.isascii() and int(typed[:6]) <= len(offered):
                person = offered[int(typed) - 1].column
            else:
                named = [name for name in self.draft.source_columns if name.lower() == typed.strip("\"'").lower()]
                if len(named) != 1:
                    self._say(f"  there is no column {typed[:60]!r}")
                    continue
                person = named[0]
            self.draft = self.draft.replace(settings={"person": person})
            return

    def _ask_rows(self) -> None:
        if "person" not in self.draft.settings or "rows_per_person" in self.draft.settings:
            return
        self._say(
            "\nAt most how many rows of one person count? Further rows are left out; the more count, the more noise "
            "hides one person."
        )
        while True:
            typed = self._line("rows per person, from what is known without the data [1]: ") or "1"
            if typed.isascii() and typed.isdecimal() and 0 < int(typed[:12]) < 10**9:
                self.draft = self.draft.replace(settings={"rows_per_person": int(typed[:12])})
                return
            self._say(f"  {typed[:40]!r} is not a whole number from 1 on")

    def _ask_budget(self) -> None:
        if {"budget", "population"} & set(self.draft.settings) or "epsilon" in self.answered:
            return
        default = "none yet" if self.inherited is None else f"{exact.show(self.inherited.epsilon)}, the project's"
        self._say("\nHow much may all answers about these people spend together? A smaller number protects more.")
        while True:
            typed = self._line(f"epsilon [{default}]: ")
            if not typed:
                return
            try:
                budget = budget_of(typed, None)
            except UsageError as problem:
                self._say(f"  {problem.reason}")
                continue
            assert budget is not None
            if large_limit := large_limit_sentence(budget.epsilon):
                self._say(f"  {large_limit}")
            self.draft = self.draft.replace(settings={"budget": {"epsilon": budget.epsilon, "delta": budget.delta}})
            return

    def _ask_columns(self) -> None:
        from discreet.project.declaration_words import grouped_column_words

        declared = self.draft.declared_columns
        if not declared:
            return
        lines = grouped_column_words(declared)
        width = min(40, max(len(names) for names, _ in lines))
        self._say("\nWhat each column is, as proposed:")
        for names, words in lines:
            self._say(f"  {names:{width}}  {words}")
        self._say(_MORE_WORDS)
        columns = {name: self.draft.columns.get(name) for name in self.draft.source_columns}
        while typed := self._line("> "):
            try:
                changed = read_line(typed, columns)
            except UsageError as problem:
                self._say(f"  {problem.reason}" + (f"\n  try: {problem.hint}" if problem.hint else ""))
                continue
            columns |= changed
            self.draft = self.draft.replace(columns=changed)
            for names, words in grouped_column_words(changed):
                self._say(f"  {names}: {words}")

    def _confirm(self) -> None:
        from discreet.project.declaration_words import draft_sentences

        self._say(f"\n{self.draft.name!r} would be declared so:")
        for sentence in draft_sentences(self.draft, inherited=self.inherited):
            self._say(f"  {sentence}")
        while True:
            typed = self._line("write this to discreet.toml? (yes, no, toml to see the text) [no]: ").lower()
            if typed in ("y", "yes"):
                return
            if typed in ("toml", "t"):
                self._say(self.draft.toml())
            elif typed in ("", "n", "no"):
                raise UsageError("nothing was written, because this was not confirmed")


def _layout_words(draft: TableDraft, folder: Path) -> list[str]:
    """How the files of a draft are laid out."""
    words = []
    if "engine" not in draft.settings:
        layout = read_layout({key: draft.settings[key] for key in LAYOUT_KEYS & draft.settings.keys()}, where="")
        with suppress(DiscreetError, OSError):
            source = find(draft.settings["source"], folder=folder, layout=layout)
            if source.kind == "csv" and "delimiter" not in draft.settings:
                words.append(f"divided by {_DELIMITERS.get(source.delimiter, source.delimiter)}")
            if len(source.files) > 1:
                words.append(f"{len(source.files):,} files")
    for key in sorted(LAYOUT_KEYS & draft.settings.keys()):
        value = draft.settings[key]
        words.append(f"{key} {_DELIMITERS.get(value, value) if key == 'delimiter' else value}")
    return words


_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
