"""What a page shows, compared with what is seen: words, columns and prices count; noise, ids, digests and times do not.

Numbers become `#`, but for those that no noise decides: epsilon and delta, versions, exit codes, and the width of a plain
count. `…` on a page stands for anything: within a line for any text, alone on a line for any lines.
"""

import json
import re
from collections.abc import Iterable

_NUMBER = r"[-+−]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?"
#: Numbers that stay: prices and limits, as sentences and as JSON.
_KEPT = re.compile(rf'((?:epsilon|delta|version)"?[ =:]+)({_NUMBER})(?![\d.,]*\d)')
_IDS = [
    (re.compile(r"(?<![\w-])([a-z])-(?=[a-z0-9]*)(?:[a-z2-7]{16}|[0-9a-f]{12,64}|[a-z0-9]{10,32})(?!\w)"), r"\1-#"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,128}\b…?"), "#"),
    (re.compile(r"dsc_[\w-]+"), "dsc_#"),
    (re.compile(r"(?<=made survey )[a-z0-9]{10}\b"), "#"),
]
_PATH = re.compile(r"(?<![\w.:/])(?:/[\w.+-]+){2,}/?")
_NOISY_NOTES = re.compile(r"^note: .*(no larger than the noise|numbers are no larger)")
#: Questions whose width is known before the answer: counts of rows, by epsilon alone.
_PLAIN_COUNT = re.compile(r"count\(\*\)", re.IGNORECASE)
_OTHER = re.compile(r"avg|sum\(|median|quantile|distinct|having|within|join|again", re.IGNORECASE)
_KEEP = "\x01"


def differs(shown: str, seen: str, *, command: str = "", ids: Iterable[str] = ()) -> str | None:
    """How what is seen differs from what a page shows, in a sentence; None where it does not. ids: known to be drawn."""
    for id_ in ids:
        shown, seen = shown.replace(id_, "#"), seen.replace(id_, "#")
    if "--json" in command and "…" not in shown and "..." not in shown:
        return _same_json(shown, seen, command)
    widths = bool(_PLAIN_COUNT.search(command)) and not _OTHER.search(command)
    left, right = _lines(shown, widths=widths), _lines(seen, widths=widths)
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


def masked(text: str, *, widths: bool = False) -> str:
    """One line, without what chance decides."""
    for pattern, instead in _IDS:
        text = pattern.sub(instead, text)
    text = _PATH.sub("PATH", text)
    text = _KEPT.sub(lambda found: found[1] + _guarded(found[2]), text)
    text = re.sub(r"(\d+)% confidence", lambda found: _guarded(found[1]) + "% confidence", text)
    if widths:
        text = re.sub(r"± (\d+)", lambda found: "± " + _guarded(found[1]), text)
    text = re.sub(rf"(?<![A-Za-z_{_KEEP}]){_NUMBER}", "#", text)
    text = re.sub(r"(?<=#)(?: ms| s| seconds?| minutes?)\b", " time", text)
    text = text.replace("; ~ marks numbers no larger than theirs", "")
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"# \(# to #\)", "# ± #", text)  # an interval is written so or so, as its ends fall
    text = re.sub(r"(?<=[#\x02]) ~", "", text).strip()
    return re.sub(f"{_KEEP}(.*?)\x02", lambda found: "".join(chr(ord(letter) - 0xE000) for letter in found[1]), text)


def _guarded(text: str) -> str:
    """A number that is to stay, written where no pattern finds it: in letters of a private plane."""
    return _KEEP + "".join(chr(ord(letter) + 0xE000) for letter in text) + "\x02"


def _lines(text: str, *, widths: bool) -> list[str]:
    kept = [masked(line, widths=widths) for line in text.strip().splitlines() if not _NOISY_NOTES.match(line)]
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


def _same_json(shown: str, seen: str, command: str) -> str | None:
    """JSON may be laid out on a page as it reads best; keys and words are the same."""
    try:
        left, right = json.loads(shown), json.loads(seen)
    except ValueError as problem:
        return f"no JSON ({problem}) from {command!r}: {seen}"
    if (left, right) == (None, None) or _bare(left) == _bare(right):
        return None
    return f"the page shows\n{json.dumps(_bare(left), indent=1)}\nbut there is\n{json.dumps(_bare(right), indent=1)}"


def _bare(data: object, key: str = "") -> object:
    """JSON without what chance decides."""
    match data:
        case dict():
            return {name: _bare(value, name) for name, value in data.items()}
        case list():
            return [_bare(value, key) for value in data]
        case str():
            return masked(data)
        case bool() | None:
            return data
        case _:
            return data if key in ("epsilon", "delta", "version") else "#"
