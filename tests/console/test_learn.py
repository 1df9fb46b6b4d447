"""The lessons: told to everybody, true, and playable with the names their scripts use."""

import html
import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from console.house import world
from discreet import console
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.console import manual_pages, render
from discreet.console.assets import assets_digest
from discreet.console.pages import learn, lessons
from discreet.console.pages.lessons import anonymity, bayes, block, composition, friends, game, phones, synthetic
from discreet.console.pages.lessons.lesson import LessonQuestion
from discreet.lab.anonymize import check
from discreet.lab.attacks.census.example_block import seven_people
from discreet.lab.attacks.census.world_search import find_worlds
from discreet.lab.attacks.network.graphs import random_town
from discreet.lab.evidence import best_under
from discreet.local import CountMeanSketch, RandomizedResponse
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
    words = html.unescape(browser.text(f"/learn/{name}"))
    for said in (lesson.lead, *lesson.paragraphs, lesson.verb, *(figure.caption for figure in lesson.figures)):
        assert re.sub(r"\s+", " ", said) in words
    assert page.count('<svg xmlns="') == page.count("<figure>") == len(lesson.figures) == page.count("<details>")
    assert lesson.question.text in words and lesson.question.solution in words
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


def test_the_page_about_the_notes_names_every_lesson():
    named = re.findall(r"`/learn/([a-z-]+)`", manual_pages.markdown_of("notes"))
    assert sorted(named) == sorted((*lessons.NAMES, "teacher"))


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
    choices = re.findall(r'choice\("([a-z]+)"', script)
    assert set(choices) == set(re.findall(r'type="radio" name="([a-z]+)"', page))
    for each in choices:  # one of them is chosen, and their values count from 0, as the script does
        found = re.findall(rf'name="{each}" value="(\d)"( checked)?>', page)
        assert [value for value, _ in found] == [str(place) for place in range(len(found))] and len(found) > 1
        assert sum(bool(checked) for _, checked in found) == 1
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
    assert len(mine) == 2 + len(lessons.NAMES) and sum(each.stat().st_size for each in mine) < 60_000
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


@pytest.mark.parametrize("name", lessons.NAMES)
def test_an_answer_is_checked_by_the_page_without_a_script(clinic, name):
    browser, question = clinic.browser("public"), lessons.lesson(name).question
    right = str(question.answer)
    wrong = next((each for each in question.choices if each != right), "12345.5")
    for given, verdict in ((right, "Right."), (wrong, "Not yet."), ("", None)):
        page = browser.get(f"/learn/{name}", params={"answer": given}).text
        assert [each for each in ("Right.", "Not yet.") if f"{each}" in page] == ([verdict] if verdict else [])
    assert question.choices == () or question.answer in question.choices


def test_what_is_typed_as_an_answer_is_shown_and_not_run(clinic):
    browser = clinic.browser("public")
    for typed in ('"><script>alert(1)</script>', "1e999", "nan", "-0", "9" * 5000, "731"):
        got = browser.get("/learn/laplace", params={"answer": typed})
        assert got.status_code == 200 and "Not yet." in got.text and "<script>alert" not in got.text
    assert browser.get("/learn/laplace?answer=1&answer=2").status_code in (400, 422)


def test_teachers_have_all_questions_with_solutions_and_students_without(clinic):
    browser = clinic.browser("public")
    everything = html.unescape(browser.text("/learn/teacher"))
    less = browser.get("/learn/teacher?solutions=no")
    for name in lessons.NAMES:
        lesson = lessons.lesson(name)
        for words in (lesson.title, lesson.task, lesson.question.text, lesson.question.solution, *lesson.paragraphs):
            assert words in everything, name
        assert lesson.question.text in html.unescape(less.text)
        assert lesson.question.solution not in html.unescape(less.text)
    page = browser.get("/learn/teacher").text
    assert page.count('<article class="sheet">') == len(lessons.NAMES) == page.count("<h3>Solution</h3>")
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) and not re.search(r"\sstyle=|<style", page)
    assert all(
        "solution" not in each["question"] for each in browser.get("/learn/teacher.json?solutions=no").json()["lessons"]
    )
    assert "solution" not in browser.get("/learn/teacher.csv?solutions=no").text
    assert "@media print" in (STATIC / "learn.css").read_text()


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


def test_a_state_links_as_the_notes_say():
    lesson = lessons.lesson("anonymity")
    assert "6 voters" in lesson.paragraphs[0] and "3 of them were men, and 1 of these" in re.sub(
        r"\s+", " ", lesson.paragraphs[0]
    )
    shares = {row[0]: float(row[1].rstrip("%")) for row in lesson.figures[0].rows}
    assert shares["ZIP code, birth date, sex"] == pytest.approx(87, abs=2)
    assert shares["three digits, ten years, sex"] == 0
    table = pa.table(
        {
            "group": [f"{place}, {age}" for place, age, ill in anonymity.INPATIENTS for _ in ill],
            "condition": [each for _, _, ill in anonymity.INPATIENTS for each in ill],
        }
    )
    report = check(table, quasi=["group"], sensitive=["condition"])
    assert (report.k, report.l, report.rows) == (4, 1, 12)
    assert min(row[1] for row in lesson.figures[1].rows) == 4 and lesson.figures[1].rows[-1][3] == "100%"


def test_the_block_is_the_one_that_the_solver_leaves():
    whole = find_worlds(seven_people())
    assert whole.complete and whole.worlds == (block.WORLD,)
    for left_out, solutions in block.SOLUTIONS[1:2]:  # tests/lab/test_census.py counts the others
        assert len(find_worlds(seven_people().without(left_out)).worlds) == solutions
    assert block.SOLUTIONS[2:] == ((("3B",), 22), (("3B", "4A"), 76))
    steps = dict(lessons.lesson("block").figures[0].rows)
    assert list(steps.values()) == [317_750, 30, 76, 22, 2, 1]
    for exact, statistic in zip(lessons.lesson("block").play["statistics"], seven_people().statistics, strict=True):
        if statistic.mean is not None:
            assert (exact["count"], exact["median"]) == (statistic.count.low, statistic.median.low)
            assert Fraction(str(exact["mean"])) * exact["count"] in (
                sum(r[0] for r in block.WORLD if seven_people().is_in_group(r, statistic.group)),
                Fraction(1101, 10),  # 36.7, rounded from 110 / 3
            )


@pytest.mark.parametrize(
    ("answer", "near", "right", "wrong"),
    [
        (84, 0, ("84", " 84 ", "84.0"), ("83", "", "eighty-four")),
        (1000, 0, ("1,000", "1000"), ("1,00",)),
        (73.1, 0.6, ("73", "73.1%"), ("0.731", "75")),
    ],
)
def test_answers_near_enough_are_right(answer, near, right, wrong):
    question = LessonQuestion(text="?", answer=answer, near=near, solution="")
    assert all(map(question.is_right, right)) and not any(map(question.is_right, wrong))


def test_phones_estimate_what_they_have_and_keep_what_they_send():
    words, days = lessons.lesson("phones").figures
    for word, true, sketch, rappor in words.rows:
        for estimate in (sketch, rappor):  # six standard deviations of the sketch are about 5 points
            assert float(estimate.partition("%")[0]) == pytest.approx(float(true.rstrip("%")), abs=6), word
    fresh, kept = (series["points"] for series in days.chart["series"])
    assert {point["value"] for point in kept} == {fresh[0]["value"]} and fresh[-1]["value"] > 99
    assert fresh[0]["value"] == pytest.approx(100 / (1 + math.exp(-1 / 2)))
    lie = CountMeanSketch(epsilon=phones.EPSILON).lie
    assert float(lie.chance) == pytest.approx(1 / (1 + math.exp(phones.EPSILON / 2)), rel=1e-6)


def test_the_best_guess_in_a_network_is_what_the_manual_says():
    rows = {row[0]: row[1:] for row in lessons.lesson("friends").figures[0].rows}
    assert rows["Are Alice and Bob connected?"][1] == "73.1%"
    assert rows["Is Alice, with 16 links, there?"] == ("100%", "99.98%", "69.7%")
    assert friends._best_guess(1, 1) == pytest.approx(best_under(1.0))
    town = random_town(friends.PEOPLE, friends.LINKS, most=friends.LIMIT)
    exact = town.at_least(friends.DEGREES)

    def moved(*links):
        after = town.with_links(*links).at_least(friends.DEGREES)
        return sum(abs(one - other) for one, other in zip(after, exact, strict=True))

    # One more link, or a newcomer with as many links as are allowed, whose friends are just below a threshold: attained.
    near = [one for one, others in enumerate(town.neighbours) if len(others) + 1 in friends.DEGREES]
    pair = next(link for link in itertools.combinations(near, 2) if link not in town.links)
    newcomer = [(friend, friends.PEOPLE) for friend in near[: friends.LIMIT]]
    assert (moved(pair), moved(*newcomer)) == friends.DEGREE_SCALES


def test_more_parents_cost_more_and_know_more():
    few, *_, many = lessons.lesson("bayes").figures[0].rows

    def share(cell):
        return float(cell.rstrip("%"))

    assert share(many[1]) > share(many[2]) > share(many[3])
    assert share(many[1]) > 10 and share(many[3]) < 2  # 30,000 people: 13.5, 10 and 0.4
    assert share(few[3]) > 15  # 100 people: K = 2 is mostly noise
    world = bayes._joint()
    assert world.sum() == pytest.approx(1)
    assert bayes.misplaced(world, bayes.learned(world, bayes.PARENTS[2], None)) == pytest.approx(0)
    assert bayes.misplaced(world, bayes.learned(world, bayes.PARENTS[1], None)) > 0.05
    income = world.sum(axis=0)
    for age, education in itertools.product(range(3), range(2)):
        cell = income[age, education]
        assert cell[1] / cell.sum() == pytest.approx(bayes.RICH[education][age])


def test_the_attacker_of_the_game_is_as_good_as_the_law_of_noise_says():
    for epsilon in (Fraction(3, 10), Fraction(1), Fraction(2)):
        law = DiscreteLaplace(scale=1 / epsilon)
        mass = [float(law.mass(k)) for k in range(-200, 201)]
        both = np.convolve(mass, mass)  # of the difference of two draws
        exact = both[: len(both) // 2 + 1].sum()  # of a difference of 1 half a step is a whole one to 0
        # 4,000 attacks have a standard deviation of 0.8 points: six of them
        assert game.attacked(epsilon, 1) == pytest.approx(exact, abs=0.048)
        assert exact <= best_under(float(epsilon))
    assert game._width(Fraction(3, 10)) <= game.WIDTH < game._width(Fraction(1, 4))
    once, *_, often = lessons.lesson("game").figures[1].rows
    assert float(once[1].rstrip("%")) < 65 < float(often[1].rstrip("%")) + 4
    assert [row[2] for row in lessons.lesson("game").figures[1].rows] == ["0.3", "1.2", "4.8", "19.2"]


def test_lessons_read_no_project():
    """So none of its exact numbers can stand in one: they get by with an address and what was typed."""
    for name in lessons.NAMES:
        address = SimpleNamespace(params={"lesson": name}, query_text=lambda key: "")
        assert learn.show(address).data["lesson"]["name"] == name
    assert (
        len(learn.index(address).data["lessons"]) == len(learn.teacher(address).data["lessons"]) == len(lessons.NAMES)
    )
