"""The lessons: told to everybody, true, and playable with the names their scripts use."""

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from console.house import world
from discreet import console
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.console import render
from discreet.console.assets import assets_digest
from discreet.console.pages import lessons
from discreet.console.pages.lessons import composition, synthetic
from discreet.lab.evidence import best_under
from discreet.local import RandomizedResponse
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.present import charts

HERE = Path(console.__file__).parent
STATIC, TEMPLATES = HERE / "static", HERE / "templates"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("learn") / "clinic")
    yield made
    made.house.handle.close()


@pytest.mark.deep
def test_everybody_may_learn(clinic):
    for role in ("public", "analyst"):
        words = clinic.browser(role).text("/learn")
        for name in lessons.NAMES:
            assert lessons.lesson(name).title in words


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", lessons.NAMES)
def test_a_lesson_is_whole_without_a_script(clinic, name):
    browser = clinic.browser("public")
    page, lesson = browser.get(f"/learn/{name}").text, lessons.lesson(name)
    words = browser.text(f"/learn/{name}").replace("&#39;", "'").replace("&#34;", '"')
    for said in (lesson.lead, *lesson.paragraphs, lesson.verb, *(figure.caption for figure in lesson.figures)):
        assert re.sub(r"\s+", " ", said) in words
    assert page.count('<svg xmlns="') == page.count("<figure>") == len(lesson.figures) == page.count("<details>")
    assert f'<a href="{lesson.to}">' in page
    for figure in lesson.figures:
        assert all(str(cell) in words for row in figure.rows for cell in row)


@pytest.mark.parametrize("name", lessons.NAMES)
def test_a_lesson_has_no_script_or_style_in_it(clinic, name):
    page = clinic.browser("public").get(f"/learn/{name}").text
    assert not re.search(r"\sstyle=|\son[a-z]+=|<style|javascript:", page)
    assert re.findall(r"<script[^>]*>", page) == [
        f'<script type="module" src="/assets/{assets_digest()}/base.js">',
        f'<script type="module" src="/assets/{assets_digest()}/learn-{name}.js">',
    ]
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", lessons.NAMES)
def test_a_lesson_tells_programs_the_same(clinic, name):
    browser, lesson = clinic.browser("public"), lessons.lesson(name)
    assert browser.get(f"/learn/{name}.json").json()["lesson"] == lesson.to_data()
    lines = browser.get(f"/learn/{name}.csv").text.splitlines()
    assert len(lines) == 1 + len(lesson.figures[0].rows)


def test_lessons_lead_to_each_other(clinic):
    browser = clinic.browser("public")
    first, last = (browser.get(f"/learn/{name}").text for name in (lessons.NAMES[0], lessons.NAMES[-1]))
    assert 'rel="next"' in first and 'rel="prev"' not in first
    assert 'rel="prev"' in last and 'rel="next"' not in last


def test_what_is_no_lesson_is_not_there(clinic):
    for wrong in ("nothing", "lesson", "two_coins", "Laplace"):
        assert clinic.browser("public").get(f"/learn/{wrong}").status_code == 404


@pytest.mark.parametrize("name", lessons.NAMES)
def test_a_script_finds_what_its_page_has(name):
    script, page = (STATIC / f"learn-{name}.js").read_text(), (TEMPLATES / f"learn_play_{name}.html").read_text()
    sliders, fields = re.findall(r'slider\("([a-z]+)"', script), re.findall(r'type="range" id="([a-z]+)"', page)
    assert sorted(sliders) == sorted(fields) != []
    for each in fields:
        assert f'<label for="{each}">' in page and f'data-shows="{each}"' in page
    assert sorted(re.findall(r'button\("([a-z]+)"', script)) == sorted(re.findall(r'data-do="([a-z]+)"', page)) != []
    assert re.search(r'<svg class="chart"[^>]*role="img" aria-label="', page)
    used = set(re.findall(r"told\.([a-z]+)", script))
    assert used == set(lessons.lesson(name).play)


def test_scripts_take_from_the_shared_one_only_what_it_gives():
    shared = set(re.findall(r"export (?:const|function) ([a-zA-Z]+)", (STATIC / "learn.js").read_text()))
    for script in STATIC.glob("learn-*.js"):
        text = script.read_text()
        (names,) = re.findall(r'import \{([^}]+)\} from "\./learn\.js";', text)
        taken = {name.strip() for name in names.split(",")}
        assert taken <= shared
        assert all(len(re.findall(rf"\b{name}\b", text)) > 1 for name in taken), "nothing is taken and not used"


def test_scripts_are_small_and_safe():
    mine = [*STATIC.glob("learn*.js"), STATIC / "lab.js"]
    assert len(mine) == 8 and sum(each.stat().st_size for each in mine) < 30_000
    for script in mine:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|Function\(|\.style\b|https?://(?!www\.w3\.org)",
            script.read_text(),
        )


def test_depths_and_kinds_that_scripts_draw_have_rules():
    sheet = (STATIC / "charts.css").read_text()
    for script in STATIC.glob("learn-*.js"):
        for word in re.findall(r'"(?:[a-z0-9 -]*\s)?(chart-[a-z0-9-]+)', script.read_text()):
            assert word in sheet or word in charts.heat_map.CLASSES, (script.name, word)


def test_a_table_beside_a_chart_escapes_and_shows_keys():
    macro = render._environment().get_template("charts.html").module
    svg = charts.bars([charts.Bar(label="<b>", value=1)], title="<i>")
    shown = str(macro.figure(svg, {"columns": ["<u>"], "rows": [["<s>", None, True, 3]]}, caption="<em>"))
    assert not re.search(r"<(b|i|u|s|em)>", shown) and "&lt;s&gt;" in shown
    assert ">NULL<" in shown and ">true<" in shown and '<td class="number">3<' in shown


# What the lessons say, held against the code that does it.


def test_two_coins_are_ln_3():
    coins = RandomizedResponse.two_coins()
    assert float(coins.epsilon) == pytest.approx(math.log(3), abs=1e-9)
    assert [float(chance) for chance in coins.chances] == pytest.approx([3 / 4, 1 / 4], abs=1e-9)
    bars = lessons.lesson("two-coins").figures[0].chart["bars"]
    widths = [bar["high"] - bar["low"] for bar in bars]
    # 10 times the people, an interval about root 10 times narrower; that of a small class may be cut off at 0 or 100
    if bars[0]["low"] > 0 and bars[0]["high"] < 100:
        assert widths[0] / widths[1] == pytest.approx(math.sqrt(10), rel=0.4)
    assert widths[1] / widths[2] == pytest.approx(math.sqrt(10), rel=0.1)
    assert bars[2]["value"] == pytest.approx(40, abs=15)  # eight standard deviations


def test_laplace_tells_true_numbers():
    densities, widths = lessons.lesson("laplace").figures
    assert {round(row[3], 2) for row in densities.rows} == {round(math.exp(-1), 2), round(math.e, 2)}
    for epsilon, half, factor, guessed in widths.rows:
        law = DiscreteLaplace(scale=1 / Fraction(epsilon))
        assert law.tail(half) <= Fraction(1, 20) < law.tail(half - 1)
        assert factor == pytest.approx(math.exp(float(epsilon)), abs=5e-4)
        assert guessed == f"{best_under(float(epsilon)):.1%}"
    assert "73% at epsilon 1, 52.5% at 0.1" in " ".join(lessons.lesson("laplace").paragraphs)


def test_composition_converts_as_the_ledger_does():
    sums, averages = lessons.lesson("composition").figures
    plain, rho = (series["points"] for series in sums.chart["series"])
    for one, other in zip(plain, rho, strict=True):
        assert one["value"] == pytest.approx(one["x"] / 10)
        exact = epsilon_from_rho(Fraction(one["x"], 200), Fraction(1, 10**6))
        assert other["value"] == pytest.approx(float(exact))
    assert rho[1]["value"] > plain[1]["value"] and rho[-1]["value"] < plain[-1]["value"], "the lines cross"
    assert "epsilon 5.23 at delta 1e-6" in " ".join(lessons.lesson("composition").paragraphs)
    assert averages.rows[-1][3] == pytest.approx(102.4)
    # The mean of 1,024 draws of scale 10 has a standard deviation of 0.44.
    assert averages.rows[-1][1] == pytest.approx(composition.COUNT, abs=4)


def test_intervals_hold_as_often_as_they_say():
    lesson = lessons.lesson("intervals")
    law = DiscreteLaplace(scale=Fraction(5))
    assert law.tail(15) <= Fraction(1, 20) < law.tail(14) and "within 15 of" in lesson.paragraphs[0]
    for place, answer, low, high, said in lesson.figures[0].rows:
        assert (low, high) == (answer - 15, answer + 15)
        assert said == ("contains it" if low <= 1000 <= high else "misses it")
        bar = lesson.figures[0].chart["bars"][place - 1]
        assert (bar["low"] <= 0 <= bar["high"]) == (said == "contains it")


def test_a_pair_is_closer_than_columns_alone():
    real = synthetic._exact_counts()
    assert real.sum() == synthetic.PEOPLE
    alone, pair = synthetic._independent_model(real), synthetic._pair_model(real)
    assert alone.sum() == pytest.approx(1) and pair.sum() == pytest.approx(1)
    far = [abs(real / real.sum() - each).sum() / 2 for each in (alone, pair)]
    # Without noise columns alone misplace 41%; the pair's 16 cells have noise of scale 1 among 2,000 people.
    assert far[0] > 0.3 and far[1] < 0.1
    for figure in lessons.lesson("synthetic").figures:
        assert sum(cell["value"] for cell in figure.chart["cells"]) == pytest.approx(100, abs=0.9)
        assert figure.chart["most"] == lessons.lesson("synthetic").figures[0].chart["most"]


def test_reconstruction_finds_all_without_noise_and_little_under_epsilon_1():
    this, private = lessons.lesson("reconstruction").figures[0].chart["series"]
    shares = [point["value"] for point in this["points"]]
    assert shares[0] == 100 and shares[1] > 95 and shares[-1] < 80
    # No attack guesses better than 73.1%: of 1,000 bits 80% are five standard deviations more.
    assert private["points"][0]["value"] < 80
