"""What a page shows, compared with what is seen: words, columns and prices count; noise, ids, digests and times do not.

Numbers become `#`, but for those that no noise decides: prices, what is left, versions, exact notes for the owner, and
the width of a plain count. Where a command draws no noise at all (`discreet explain`, `--plan`, Python), all numbers count.
`…` on a page stands for anything: within a line for any text, alone on a line for any lines.
"""

import json
import re
import shlex
from collections.abc import Iterable

_NUMBER = r"[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?"
#: Numbers that stay by the words beside them, as sentences and as JSON: no noise decides them.
_KEPT = [
    re.compile(words)
    for words in (
        rf'\b(?:epsilon|delta|rho|version)"?[ =:]+{_NUMBER}(?:/\d+)?(?![\d.,]*\d)',
        rf"{_NUMBER} remaining of\b",
        rf"\bspent of {_NUMBER}, {_NUMBER} remaining\b",
        rf"\bremaining of {_NUMBER}",
        rf"{_NUMBER} remains\b",
        rf"{_NUMBER} entries verified\b",
        rf"\bwrote {_NUMBER} files?\b",
        rf"\babout {_NUMBER} more counts of everybody at plus or minus {_NUMBER}",
        rf"\bmade version .* from {_NUMBER} rows\b",
        rf"\bof which {_NUMBER} are kept and {_NUMBER} left out\b",
        r"\d+% confidence",
    )
]
#: The same, as keys of JSON.
_KEPT_KEYS = ("epsilon", "delta", "rho", "version")
_IDS = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:\d\d)?"), "#"),
    (re.compile(r"(?<![\w-])([a-z])-(?=[a-z0-9]*)(?:[a-z2-7]{16}|[0-9a-f]{12,64}|[a-z0-9]{10,32})(?!\w)"), r"\1-#"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,128}\b…?"), "#"),
    (re.compile(r"dsc_[\w-]+"), "dsc_#"),
    (re.compile(r"(?<=created survey )[a-z0-9]{10}\b"), "#"),
]
_PATH = re.compile(r"(?<![\w.:/])(?:/[\w.+-]+){2,}/?")
_NOISY_NOTES = re.compile(r"^note: .*(below the noise|not shown \(–\))")
#: Questions whose width is known before the answer: counts of rows, by epsilon alone.
_PLAIN_COUNT = re.compile(r"count\(\*\)", re.IGNORECASE)
_OTHER = re.compile(r"avg|sum\(|median|quantile|distinct|having|within|join|again", re.IGNORECASE)
_KEEP = "\x01"


def draws_nothing(command: str) -> bool:
    """Whether no noise is in what a command prints: it only explains or plans, or is a program beside the page."""
    words = shlex.split(command, comments=True)
    return words[:1] == ["python"] or words[:2] == ["discreet", "explain"] or "--plan" in words


def differs(shown: str, seen: str, *, command: str = "", ids: Iterable[str] = (), exact: bool = False) -> str | None:
    """How what is seen differs from what a page shows, in a sentence; None where it does not.

    ids: known to be drawn. `exact`: there is no noise in it, so all numbers count.
    """
    for id_ in ids:
        shown, seen = shown.replace(id_, "#"), seen.replace(id_, "#")
    if "--json" in command and "…" not in shown and "..." not in shown:
        return _same_json(shown, seen, command, exact=exact)
    widths = bool(_PLAIN_COUNT.search(command)) and not _OTHER.search(command)
    left, right = (_lines(text, widths=widths, exact=exact) for text in (shown, seen))
    if not any(line.startswith("note:") for line in left):
        right = [line for line in right if not line.startswith("note:")]
    if _matches(left, right):
        return None
    for number in range(max(len(left), len(right))):
        want = left[number] if number < len(left) else "(nothing more)"
        got = right[number] if number < len(right) else "(nothing more)"
        if want == "…" or not _line(want).fullmatch(got):
            return f"the page shows\n    {want}\nbut there is\n    {got}\nin\n" + "\n".join(
                f"    {x}" for x in seen.splitlines()
            )
    return f"the page shows other lines than\n{seen}"


def masked(text: str, *, widths: bool = False, exact: bool = False) -> str:
    """One line, without what chance decides. `exact`: it decides ids, paths and times only."""
    for pattern, instead in _IDS:
        text = pattern.sub(instead, text)
    text = _PATH.sub("PATH", text)
    for pattern in _KEPT:
        text = pattern.sub(_guarded_numbers, text)
    if widths:
        text = re.sub(r"± [\d,]+", _guarded_numbers, text)
    if not exact:
        text = re.sub(rf"(?<![A-Za-z_{_KEEP}]){_NUMBER}", "#", text)
    text = re.sub(r"(?<=#)(?: ms| s| seconds?| minutes?)\b", " time", text)
    text = text.replace(" ~ below the noise: treat as unknown.", "").replace(
        " – not shown: the noise is too large.", ""
    )
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"# \(# to #\)", "# ± #", text)  # an interval is written so or so, as its ends fall
    text = re.sub(r"(?<=[#\x02]) ~", "", text).strip()
    return re.sub(f"{_KEEP}(.*?)\x02", lambda found: "".join(chr(ord(letter) - 0xE000) for letter in found[1]), text)


def _guarded_numbers(found: re.Match[str]) -> str:
    """Words whose numbers are to stay, with these where no pattern finds them: in letters of a private plane."""
    return re.sub(rf"{_NUMBER}(?:/\d+)?", lambda number: _guarded(number[0]), found[0])


def _guarded(text: str) -> str:
    return _KEEP + "".join(chr(ord(letter) + 0xE000) for letter in text) + "\x02"


def _lines(text: str, *, widths: bool, exact: bool) -> list[str]:
    told = [line for line in text.strip().splitlines() if not _NOISY_NOTES.match(line)]
    kept = [masked(line, widths=widths, exact=exact) for line in told]
    return [line for line in kept if line and not re.fullmatch(r"[-─━=┄ ]+", line)]


def _line(shown: str) -> re.Pattern[str]:
    """A shown line as a pattern: an ellipsis is any text."""
    parts = re.split(r"\s*(?:…|\.\.\.)\s*", shown)
    return re.compile(r".*".join(re.escape(part) for part in parts), re.DOTALL)


def _matches(shown: list[str], seen: list[str]) -> bool:
    """Whether lines match, where a line that is only an ellipsis is any number of lines."""
    if not shown:
        return not seen
    if shown[0] in ("…", "..."):
        return any(_matches(shown[1:], seen[skip:]) for skip in range(len(seen) + 1))
    return bool(seen) and bool(_line(shown[0]).fullmatch(seen[0])) and _matches(shown[1:], seen[1:])


def _same_json(shown: str, seen: str, command: str, *, exact: bool) -> str | None:
    """JSON may be laid out on a page as it reads best; keys and words are the same."""
    try:
        left, right = json.loads(shown), json.loads(seen)
    except ValueError as problem:
        return f"no JSON ({problem}) from {command!r}: {seen}"
    left, right = _bare(left, exact=exact), _bare(right, exact=exact)
    if left == right:
        return None
    return f"the page shows\n{json.dumps(left, indent=1)}\nbut there is\n{json.dumps(right, indent=1)}"


def _bare(data: object, key: str = "", *, exact: bool) -> object:
    """JSON without what chance decides."""
    match data:
        case dict():
            return {name: _bare(value, name, exact=exact) for name, value in data.items()}
        case list():
            return [_bare(value, key, exact=exact) for value in data]
        case str():
            return masked(data, exact=exact or key in _KEPT_KEYS)
        case bool() | None:
            return data
        case _:
            return data if exact or key in _KEPT_KEYS else "#"
