"""The page: one file that asks for nothing, shows hostile names as they are, and can be read by everybody."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from discreet.schema.column import CategoryColumn, NumberColumn, TextColumn
from discreet.synth.inspect import inspect_model
from discreet.synth.inspect.model_comparison import Comparison, Distance
from discreet.synth.inspect.report_page import report_page
from synth.inspect_tables import CARD, category, model_of, table

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\u202e\x00\ud800 東京 🙂"
EMPTY = {"meta", "br", "img", "link", "hr", "input"}
KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "nav"),
    *("h1", "h2", "h3", "p", "ul", "li", "a", "em", "strong", "span", "div", "dl", "dt", "dd", "br"),
    *("figure", "figcaption", "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    *("svg", "g", "rect", "path", "circle", "text"),
}


class Reader(HTMLParser):
    """Collects what a browser would see, and fails where tags do not nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.attributes, self.texts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]
        if tag not in EMPTY:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]

    def handle_endtag(self, tag):
        assert self.stack and self.stack.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.stack == []
    return reader


def distance(value):
    return Distance(noisy_value=value, low=value / 2, high=2 * value)


def hostile_report():
    columns = [
        CategoryColumn(name=HOSTILE, values=(HOSTILE, "", "b", "NULL", *map(str, range(20))), closed=False),
        NumberColumn(name=HOSTILE + "2", type="integer", low=0, high=99, edges=(0, 10, 50, 90, 100)),
        category("plain", 3),
        TextColumn(name=HOSTILE + "3"),
    ]
    data = table((25, 5, 3), 20_000, np.random.default_rng(3), tie=0.5)
    card = replace(CARD, table=HOSTILE, release=HOSTILE, because=HOSTILE, warnings=(HOSTILE,), unit=HOSTILE)
    card = replace(card, shares={HOSTILE: Fraction(1, 2)}, kind=HOSTILE)
    model = model_of(columns[:3], data, [(0, 1), (0, 1, 2)], sd=5, generator=np.random.default_rng(4), card=card)
    comparison = Comparison(
        release=HOSTILE,
        epsilon=Fraction(1, 10),
        delta=Fraction(0),
        rho=None,
        pairs=3,
        mean=distance(0.1),
        measured=distance(0.1),
        others=None,
        worst=(HOSTILE, "plain"),
        worst_distance=distance(0.3),
    )
    return inspect_model(replace(model, columns=tuple(columns)), comparison=comparison)


@pytest.fixture(scope="module")
def hostile() -> str:
    return report_page(hostile_report())


def test_names_and_values_are_never_markup(hostile):
    reader = read(hostile)
    assert set(reader.tags) <= KNOWN
    assert not any(name.startswith("on") for _, name, _ in reader.attributes)
    assert "<script" not in hostile.lower()
    shown = "".join(reader.texts)
    assert "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\ufffd\ufffd\ufffd 東京 🙂" in shown
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00]", hostile)
    hostile.encode("utf-8")


def test_the_page_asks_for_nothing(hostile):
    reader = read(hostile)
    asked = [(tag, name, value) for tag, name, value in reader.attributes if name in ("src", "href", "action", "data")]
    assert asked and all(value.startswith("#") for _, _, value in asked)
    assert "url(" not in hostile and "@import" not in hostile
    assert "default-src 'none'" in hostile


def test_links_lead_somewhere_and_ids_are_used_once(hostile):
    reader = read(hostile)
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    wanted = [value[1:] for tag, name, value in reader.attributes if tag == "a" and name == "href"]
    wanted += [value for _, name, value in reader.attributes if name == "aria-labelledby"]
    assert set(wanted) <= set(ids)


def test_drawings_have_words_and_headings_an_order(hostile):
    reader = read(hostile)
    drawings = reader.tags.count("svg")
    assert drawings == 1 + 3 + 3 + 1  # distances, histograms, two heat maps and the network, the split
    assert (
        sum(tag == "svg" and name == "aria-label" and bool(value) for tag, name, value in reader.attributes) == drawings
    )
    levels = [int(tag[1]) for tag in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert ("html", "lang", "en") in reader.attributes


def test_what_matters_is_said():
    report = hostile_report()
    text = " ".join("".join(read(report_page(report)).texts).split())
    for words in (
        "What this data is good and bad for",
        "Compared with the real table",
        "within 5% of the real table's count, with 95% confidence",
        "epsilon 0.1",
        "everything else",
    ):
        assert words in text
    assert "Compared with the real table" not in report_page(replace(report, comparison=None))


def test_a_delta_of_nothing_is_not_claimed_for_rho():
    model = model_of(
        [category("a", 2)], np.zeros((50, 1), dtype=np.int64), [], sd=1, generator=np.random.default_rng(1)
    )
    shown = report_page(inspect_model(replace(model, card=replace(CARD, delta=Fraction(0)))))
    assert shown.count("<dt>delta</dt><dd>not stated</dd>") == 2
    pure = report_page(inspect_model(replace(model, card=replace(CARD, delta=Fraction(0), rho=None))))
    assert pure.count("<dt>delta</dt><dd>0</dd>") == 2


def test_no_numbers_go_wrong_in_drawings(hostile):
    assert not re.search(r"\b(nan|inf)\b", re.sub("<style>.*</style>", "", hostile, flags=re.S))
    widths = [float(value) for value in re.findall(r' (?:width|height|r)="([^"]*)"', hostile)]
    assert widths and min(widths) >= 0


def test_lines_for_a_terminal_hold_no_control_characters():
    found = hostile_report().lines()
    assert len(found) > 5
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", "".join(found))
