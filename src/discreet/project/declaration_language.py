"""The little language in which an owner says what columns are, once for several of them: `age, height: 0..120`.

    age, height: 0..120            numbers (or days) between two bounds; a bound may be left out: 0..
    price: decimal 0..99.99        a type and its bounds
    income: 0..200000 bins 20      cut into bins;  step 0.5 sets the step of a decimal
    seen: date dd.mm.yyyy          how the days are written
    sex: f, m                      a list of words
    sex: 1=male, 2=female          a list of codes with their labels
    smoker: yes/no                 true and false, by these words
    notes: skip                    not declared, so that nobody can ask about it
    q*: 1..5                       every column whose name begins with q
    "first, second": text          a name with a comma or a colon stands in quotes
    age: 0..120; sex: f, m         several of these in one line, with semicolons between them

What is typed is public: it is written into discreet.toml, and nothing of it is read from data.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.errors import SchemaError, UsageError
from discreet.schema.column import moment_code
from discreet.schema.grid_step import with_steps
from discreet.schema.project_file import read_column
from discreet.schema.schema import closest_name_hint

Settings = Mapping[str, Any]

#: What people call the types, in small letters.
TYPES = {
    **dict.fromkeys(("integer", "int", "whole", "whole number", "integers", "long", "bigint"), "integer"),
    **dict.fromkeys(("decimal", "float", "double", "real", "decimals", "money", "currency"), "decimal"),
    **dict.fromkeys(("number", "numeric", "num", "numerical", "continuous", "interval", "ratio", "scale"), "number"),
    **dict.fromkeys(("date", "day", "dates"), "date"),
    **dict.fromkeys(("timestamp", "datetime", "time", "date and time", "date/time"), "timestamp"),
    **dict.fromkeys(("boolean", "bool", "logical", "flag", "yes/no", "true/false", "binary", "dichotomous"), "boolean"),
    **dict.fromkeys(("category", "categorical", "factor", "enum", "nominal", "ordinal", "coded", "code"), "category"),
    **dict.fromkeys(("text", "string", "str", "char", "varchar", "character", "free text", "words"), "text"),
}

#: Words for true and for false that need no declaration: the reader of booleans takes them.
_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")

#: Other words for them, which are declared.
_OTHER_TRUE = ("ja", "j", "oui", "si", "sí", "x", "on", "present", "positive", "pos", "+")
_OTHER_FALSE = ("nein", "non", "nee", "off", "absent", "negative", "neg", "-")

_SKIP = ("skip", "leave out", "drop", "ignore", "none", "out")
_RANGE = re.compile(r"(?P<low>.*?)\s*(?:\.\.\.?|…|–|\s+to\s+)\s*(?P<high>.*)", re.IGNORECASE)
_ORDERED = ("integer", "decimal", "date", "timestamp")
_DATE_FORMAT = re.compile(r"%\S.*|[dmyhs]{1,4}([-/. :t]+[dmyhs]{1,4})+", re.IGNORECASE)

_EXAMPLES = "write age: 0..120, or sex: f, m, or smoker: yes/no, or notes: skip"


def read_line(line: str, columns: Mapping[str, Settings | None]) -> dict[str, dict[str, Any] | None]:
    """What a line says of columns: the settings of each, or None where it is not declared.

    `columns`: all of them, with what is proposed for each; what the line does not say stays as proposed.

    >>> read_line("sex: 1=male, 2=female", {"sex": {"type": "integer"}})
    {'sex': {'type': 'category', 'values': ['1', '2'], 'labels': {'1': 'male', '2': 'female'}}}
    >>> list(read_line("sex: f; m; age: 0..120", {"sex": {"type": "text"}, "age": {"type": "integer"}}))
    ['sex', 'age']
    """
    line, *others = _split_statements(line, columns)
    if others:
        return read_lines([line, *others], columns)
    names, phrase = _split_line(line)
    meant = [name for part in names for name in _columns_meant(part, columns)]
    changed: dict[str, dict[str, Any] | None] = {}
    for name in dict.fromkeys(meant):
        settings = _settings_said(phrase, columns[name] or {}, name=name)
        if settings is not None:
            check_settings(name, settings)
        changed[name] = settings
    return changed


def read_lines(lines: Iterable[str], columns: Mapping[str, Settings | None]) -> dict[str, dict[str, Any] | None]:
    """What several lines say. A column that is named in two of them is refused."""
    changed: dict[str, dict[str, Any] | None] = {}
    for line in lines:
        phrase = read_line(line, columns)
        for name in phrase.keys() & changed.keys():
            raise UsageError(f"column {name!r} is described twice", hint="name each column once")
        changed |= phrase
    return changed


def check_settings(name: str, settings: Settings) -> None:
    """Refuse settings of a column that discreet.toml would not take."""
    where = "[settings]"
    try:
        read_column(name, with_steps({"columns": {name: settings}})["columns"][name], where=where)
    except SchemaError as problem:
        reason = problem.reason.replace(f"[settings.columns.{name}]", f"column {name!r}:")
        raise SchemaError(reason, hint=problem.hint) from None


def _split_statements(line: str, columns: Mapping[str, Settings | None]) -> list[str]:
    """The statements of a line that have semicolons between them; those within a list of words divide nothing.

    A semicolon ends a statement if names and a colon follow. Codes with a colon before their labels, as in
    `sex: 1: male; 2: female`, are names only if there are such columns.
    """
    line, statements, start = line.rstrip("; \t"), [], 0
    for mark in re.finditer(";", line):
        before, rest = line[start : mark.start()], line[mark.end() :]
        try:
            _, phrase = _split_line(before)
            names, _ = _split_line(rest)
        except UsageError:
            continue  # within a quoted name, or within a list of words
        if any(";" in name and name not in columns for name in names):
            continue  # this semicolon divides two words; a later one may end the statement
        if ": " in phrase or "=" in rest.partition(":")[0]:
            try:
                for name in names:
                    _columns_meant(name, columns)
            except UsageError:
                continue
        statements.append(before)
        start = mark.end()
    return [*statements, line[start:]]


def _split_line(line: str) -> tuple[list[str], str]:
    """The names before the colon, and what is said of them."""
    names, rest = [], line.strip()
    while True:
        if rest[:1] in ('"', "'"):
            name, quote, rest = rest[1:].partition(rest[0])
            if not quote:
                raise UsageError(f"a quote is not closed in {line.strip()[:80]!r}", hint=_EXAMPLES)
            rest = rest.lstrip()
        else:
            name = re.split("[,:]", rest, maxsplit=1)[0].strip()
            rest = rest[len(re.split("[,:]", rest, maxsplit=1)[0]) :]
        if not name:
            raise UsageError(f"a column's name is missing in {line.strip()[:80]!r}", hint=_EXAMPLES)
        names.append(name)
        if rest[:1] == ":":
            phrase = rest[1:].strip()
            if not phrase:
                raise UsageError(f"nothing is said about {', '.join(names)[:80]}", hint=_EXAMPLES)
            return names, phrase
        if rest[:1] != ",":
            raise UsageError(f"{line.strip()[:80]!r} has no colon after its columns", hint=_EXAMPLES)
        rest = rest[1:].lstrip()


def _columns_meant(part: str, columns: Mapping[str, Settings | None]) -> list[str]:
    """The columns that a name or pattern means."""
    if part in columns:
        return [part]
    same = [name for name in columns if name.lower().strip() == part.lower()]
    if not same and "*" in part:
        pattern = re.sub(r"([\[\]?])", r"[\1]", part.lower())
        same = [name for name in columns if fnmatch.fnmatchcase(name.lower(), pattern)]
    elif len(same) > 1:
        raise UsageError(f"{part[:60]!r} means {len(same)} columns", hint="write its capital letters as in the source")
    if not same:
        raise UsageError(f"there is no column {part[:60]!r}", hint=closest_name_hint(part, columns))
    return same


def _settings_said(phrase: str, proposed: Settings, *, name: str) -> dict[str, Any] | None:
    if phrase.lower() in _SKIP:
        return None
    kept = {key: value for key, value in proposed.items() if key == "null"}
    if "/" in phrase and (words := _truth_words(phrase)) is not None:
        return _truth(words, proposed) | kept
    word, rest = _leading_type(phrase)
    if word is not None and not rest:
        return with_type(word, proposed)
    if word in ("date", "timestamp") and (form := _DATE_FORMAT.match(rest)) is not None:
        whole = _format_words(rest)
        if whole is not None:
            return {"type": word, "format": rest} | kept
        rest_range = rest[form.end() :].strip()
        bounds = read_bounds(rest_range, word, name=name)
        return {"type": word, "format": form[0].strip(), **bounds} | kept
    if word in (None, "number", *_ORDERED) and "," not in rest and _RANGE.fullmatch(rest):
        return _bounded(rest, word, proposed, name=name)
    if word in (None, "category"):
        return _listed(rest, name=name) | kept
    raise UsageError(f"{phrase[:80]!r} does not say what {name!r} is", hint=_EXAMPLES)


def with_type(word: str, proposed: Settings) -> dict[str, Any]:
    """The settings of a column whose type is given alone: those proposed, if they are of the same type."""
    proposed_type = proposed.get("type")
    type_ = word if word != "number" else proposed_type if proposed_type in ("integer", "decimal") else "decimal"
    if type_ == "category" and "values" not in proposed:
        raise UsageError("a category needs its words", hint="write them: sex: f, m")
    return dict(proposed) if type_ == proposed_type else {"type": type_} | _marks(proposed)


def _marks(proposed: Settings) -> dict[str, Any]:
    return {key: value for key, value in proposed.items() if key == "null"}


def _leading_type(phrase: str) -> tuple[str | None, str]:
    """A type at the beginning, and what follows."""
    if phrase.lower() in TYPES:
        return TYPES[phrase.lower()], ""
    first, _, rest = phrase.partition(" ")
    if first.lower() in TYPES and rest.strip() and "," not in first:
        return TYPES[first.lower()], rest.strip()
    return None, phrase


def _format_words(text: str) -> str | None:
    """The text, where all of it is a way to write days."""
    return text if _DATE_FORMAT.fullmatch(text) else None


def _bounded(phrase: str, word: str | None, proposed: Settings, *, name: str) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    while (match := re.fullmatch(r"(.*?)\s+(?:in\s+)?(bins|step)\s+(\S+)", phrase, re.IGNORECASE)) is not None:
        phrase, key, value = match[1], match[2].lower(), match[3]
        extras[key] = bound_of(value, "integer" if key == "bins" else "decimal", name=name)
    match = _RANGE.fullmatch(phrase)
    if match is None:
        raise UsageError(f"{phrase[:80]!r} does not say what {name!r} is", hint=_EXAMPLES)
    ends = [end for end in (match["low"].strip(), match["high"].strip()) if end]
    if not ends:
        raise UsageError(f"the bounds of {name!r} are missing", hint="write both: 0..120")
    type_ = type_of_bounds(ends, word, proposed, step="step" in extras)
    kept = {key: value for key, value in proposed.items() if proposed.get("type") == type_ or key == "null"}
    for stale in ("low", "high", "bins", "edges", "step"):
        kept.pop(stale, None)
    return kept | {"type": type_} | read_bounds(phrase, type_, name=name) | extras


def read_bounds(phrase: str, type_: str, *, name: str) -> dict[str, Any]:
    """LOW..HIGH as settings; nothing where nothing is said."""
    match = _RANGE.fullmatch(phrase)
    if match is None:
        if phrase:
            raise UsageError(f"{phrase[:60]!r} is no range", hint="write two bounds: 0..120")
        return {}
    ends = {"low": match["low"].strip(), "high": match["high"].strip()}
    return {key: bound_of(end, type_, name=name) for key, end in ends.items() if end}


def type_of_bounds(ends: Iterable[str], word: str | None, proposed: Settings, *, step: bool = False) -> str:
    """The type of a column with these bounds: as said, else by how they are written, else as proposed."""
    if word is not None and word != "number":
        return word
    ends, proposed_type = list(ends), str(proposed.get("type"))
    if word is None and all(_is_moment(end) for end in ends):
        timed = proposed_type == "timestamp" or any(re.search(r"\d[ T]\d", end) for end in ends)
        return "timestamp" if timed else "date"
    if step or proposed_type == "decimal":
        return "decimal"
    return "integer" if all(re.fullmatch(r"[-+]?\d+", end) for end in ends) else "decimal"


def _is_moment(text: str) -> bool:
    return re.match(r"\d{4}-\d\d-\d\d", text.strip()) is not None


def bound_of(text: str, type_: str, *, name: str) -> Any:
    """A bound as discreet.toml has it: a number, a day, an instant."""
    text = text.strip()
    if type_ in ("date", "timestamp"):
        try:
            moment_code(text, "date" if type_ == "date" else "timestamp")
            return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"the bound {text[:40]!r} of {name!r} is no {type_}", hint="write 2026-01-31") from None
    try:
        number = exact.number(text.replace("_", ""), name="a bound")
    except UsageError:
        raise UsageError(
            f"the bound {text[:40]!r} of {name!r} is no number", hint="write 0..120, or 0.5..99.5 with decimal points"
        ) from None
    if number.denominator == 1 and type_ in ("integer", "decimal"):
        return int(number)
    if type_ == "integer":
        raise UsageError(f"the bound {text[:40]!r} of {name!r} is not a whole number", hint="decimal 0.5..99.5")
    return Fraction(number)


def _listed(phrase: str, *, name: str) -> dict[str, Any]:
    values, labels = read_words(phrase)
    if len(values) < 2:
        raise UsageError(
            f"{phrase[:60]!r} is neither a type nor a list of words for {name!r}",
            hint=f"{closest_name_hint(phrase, [*TYPES, 'skip'])}; a list has commas: f, m".removeprefix("; "),
        )
    return category_of(values, labels)


def category_of(values: list[str], labels: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a category; only labels that say something else than their codes are kept."""
    named = {value: label for value, label in labels.items() if label != value}
    return {"type": "category", "values": values} | ({"labels": named} if named else {})


def read_words(text: str) -> tuple[list[str], dict[str, str]]:
    """A list of words or codes, some with their labels: `1=male; 2=female`, `f, m`, `1|2|3`.

    >>> read_words("1=Male;2=Female"), read_words("a|b")
    ((['1', '2'], {'1': 'Male', '2': 'Female'}), (['a', 'b'], {}))
    """
    divider = next((sign for sign in ("\n", "|", ";") if sign in text), ",")
    parts = [part.strip() for part in text.split(divider)]
    values, labels = [], {}
    for part in filter(None, parts):
        value, has_label, label = (piece.strip() for piece in _with_label(part))
        value = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
        if value in values:
            raise UsageError(f"{value[:60]!r} is listed twice", hint="list each word once")
        if not value or (has_label and not label):
            raise UsageError(f"{part[:60]!r} has no word or no label", hint="write 1=male, 2=female")
        values.append(value)
        if has_label:
            labels[value] = label
    return values, labels


def _with_label(part: str) -> tuple[str, str, str]:
    """A code, the sign between and its label: `1=male`, or `1: male`."""
    return part.partition("=") if "=" in part else part.partition(": ")


def _truth_words(phrase: str) -> tuple[list[str], list[str]] | None:
    """The words for true and for false that are divided by a slash; None where they are no such words."""
    one, _, two = (part.strip() for part in phrase.partition("/"))
    for true, false in ((one, two), (two, one)):
        if true.lower() in (*_TRUE, *_OTHER_TRUE) and false.lower() in (*_FALSE, *_OTHER_FALSE):
            return [true], [false]
    return None


def _truth(words: tuple[list[str], list[str]], proposed: Settings) -> dict[str, Any]:
    (true,), (false,) = words
    if proposed.get("type") == "boolean" and proposed.get("true", [true]) == [true]:
        return dict(proposed)
    if true.lower() in _TRUE and false.lower() in _FALSE:
        return {"type": "boolean"}  # the reader of booleans takes these words
    return {"type": "boolean", "true": [true], "false": [false]}
