"""Numbers that follow from several noisy ones, their intervals, names and keys: forged, and derived by a wrong Discreet."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answers.answer_block import AnswerBlock
from discreet.bundle import answer_replay, bundle_files, formula_data, sheet
from discreet.plan.formula import aggregate_formulas
from verify import world
from verify.conftest import state_in
from verify.forger import forged
from verify.forging import verdicts

#: Bundles are made once for all tests of this folder, by whichever comes first.


def table_of(documents):
    (table,) = documents["data"]["tables"]
    return table


def number(change, *, column=-1, turn=0):
    """Another number within its interval, whose ends stay as they are; `change`: of the number and its half width."""

    def changed(documents):
        table = table_of(documents)
        value, (low, high) = table["rows"][turn][column], table["intervals"][turn][column]
        table["rows"][turn][column] = change(value, (high - low) / 2)

    return changed


def nearer(shown, half):
    """A twentieth to a tenth of the half width further, with as many digits: the smallest lie that rounding leaves."""
    places = len(repr(shown).partition(".")[2])
    return round(shown + max(0.1 * half, 1.01 * 10.0**-places), places)


def ends(times, *, column=-1):
    """An interval that is so many times as long, with three digits as honest ones have."""

    def changed(documents):
        table = table_of(documents)
        low, high = table["intervals"][0][column]
        far, middle = times * (high - low) / 2, (low + high) / 2
        told = table["columns"][column].get("bounds")
        table["intervals"][0][column] = list(sheet._outward((middle - far, middle + far), told))

    return changed


def shown(place, kind, value):
    """Another formula, or other units, in the proof."""

    def changed(documents):
        (told,) = documents["proof"]["shown"]
        told[kind][place][1 if kind == "formulas" else 2] = value(told[kind][place][1]) if callable(value) else value

    return changed


def hidden(documents):
    """A number that its noise does not hide."""
    table_of(documents)["rows"][0][-1] = None


def times(by, *, column=0, told=None):
    """A multiple that is so many times as large, with its interval; `told`: what the proof says that it is."""

    def changed(documents):
        table, (own,) = table_of(documents), documents["proof"]["shown"]
        own["columns"][column][2] = told or f"{Fraction(own['columns'][column][2]) * by}/1"
        for rows in (table["rows"], table["intervals"]):
            cell = rows[0][column]
            rows[0][column] = [each * by for each in cell] if isinstance(cell, list) else cell * by

    return changed


def other_names(documents):
    first, *_, last = [each for each in table_of(documents)["columns"] if each["kind"] != "key"]
    first["name"], last["name"] = last["name"], first["name"]


def other_keys(documents):
    """The keys of the first two rows that differ, exchanged."""
    rows = table_of(documents)["rows"]
    one, two = rows[0], next(row for row in rows if row[0] != rows[0][0])
    one[0], two[0] = two[0], one[0]


def other_rows(documents):
    """The numbers of all rows in another order, with their intervals; keys stay."""
    table = table_of(documents)
    keys = [place for place, each in enumerate(table["columns"]) if each["kind"] == "key"]
    rows = table["rows"][1:] + table["rows"][:1]
    for row, own in zip(rows, [list(row) for row in table["rows"]], strict=True):
        for place in keys:
            row[place] = own[place]
    table["rows"], table["intervals"] = rows, table["intervals"][1:] + table["intervals"][:1]


def other_quantiles(documents):
    """Each number under the name of the other, with its interval and its place in the proof."""
    table, (told,) = table_of(documents), documents["proof"]["shown"]
    for row in (*table["rows"], *table["intervals"]):
        row[0], row[1] = row[1], row[0]
    one, two = told["quantiles"]
    one[1], two[1] = two[1], one[1]


def bounds(documents):
    """Narrower than the declared ones: numbers look surer."""
    column = table_of(documents)["columns"][-1]
    column["bounds"] = [column["bounds"][0], column["bounds"][1] / 2 + 40]


def other_text(text):
    def changed(documents):
        documents["plan"]["text"] = text

    return changed


AVERAGE = "persons: per person"
#: The bundle, the lie, and the line that tells.
LIES = {
    "another average": (AVERAGE, number(nearer), "numbers"),
    "another average by a digit more": (AVERAGE, number(lambda value, half: value + half / 1000), "numbers"),
    "an average of the other group": ("rows: average", other_rows, "numbers"),
    "a hidden average": (AVERAGE, hidden, "numbers"),
    "a shorter interval of an average": (AVERAGE, ends(0.9), "numbers"),
    "a longer interval of an average": (AVERAGE, ends(1.4), "numbers"),
    "narrower bounds of an average": (AVERAGE, bounds, "numbers"),
    "an average of other statistics": (AVERAGE, shown(0, "formulas", ["average", 3, 0, "1/100"]), "numbers"),
    "an average in other units": (AVERAGE, shown(1, "formulas", lambda tree: [*tree[:3], "1/1"]), "numbers"),
    "an average of no sum": (AVERAGE, shown(0, "formulas", ["average", 1, 1, "1/1"]), "numbers"),
    "another deviation": ("rows: deviation", number(nearer), "numbers"),
    "a shorter interval of a variance": ("rows: variance", ends(0.9), "numbers"),
    "a shorter interval of a deviation": ("rows: deviation", ends(0.9), "numbers"),
    "a longer interval of a deviation": ("rows: deviation", ends(1.4), "numbers"),
    "another variance": ("rows: variance", number(nearer), "numbers"),
    "a variance that is a deviation": ("rows: variance", shown(0, "formulas", lambda tree: ["stddev_pop", *tree[1:]]), "numbers"),
    "a variance of exchanged sums": ("rows: variance", shown(0, "formulas", lambda tree: [tree[0], tree[1], tree[3], tree[2], tree[4]]), "numbers"),
    "narrower bounds of a variance": ("rows: variance", bounds, "numbers"),
    "another ratio": ("rows: share", number(nearer), "numbers"),
    "a shorter interval of a ratio": ("rows: share", ends(0.9), "numbers"),
    "a longer interval of a ratio": ("rows: share", ends(2.5), "numbers"),
    "a ratio upside down": ("rows: ratio", shown(0, "formulas", lambda tree: [tree[0], tree[2], tree[1]]), "numbers"),
    "a ratio that is a product": ("rows: ratio", shown(0, "formulas", lambda tree: ["*", *tree[1:]]), "numbers"),
    "another median": ("rows: quantile", number(lambda value, _: value + 1), "numbers"),
    "a hidden median": ("rows: quantile", hidden, "numbers"),
    "a shorter interval of a median": ("rows: quantile", ends(0.9), "numbers"),
    "a longer interval of a median": ("rows: quantile", ends(1.1), "numbers"),
    "narrower bounds of a median": ("rows: quantile", bounds, "numbers"),
    "a median in other units": ("rows: quantile", shown(0, "quantiles", "1/10"), "numbers"),
    "a median of days": ("rows: quantile", shown(0, "quantiles", "date"), "numbers"),
    "a multiple by another number of the text": ("rows: multiples", times(7), "names"),
    "a multiple by no number of the text": ("rows: multiples", times(5), "names"),
    "a part that is a whole": ("rows: multiples", times(10, column=1, told="1/1"), "numbers"),
    "exchanged names": ("rows: average", other_names, "names"),
    "exchanged names of two averages": (AVERAGE, other_names, "names"),
    "exchanged names of two quantiles": ("rows: quantiles", other_names, "names"),
    "exchanged names of a sum and a count": ("persons: constant", other_names, "names"),
    "exchanged keys of averages": ("rows: average", other_keys, "names"),
    "exchanged keys of medians": ("rows: quantile", other_keys, "names"),
    "exchanged keys of counts": ("persons: constant", other_keys, "names"),
    "exchanged keys of sets": ("rows: grouping and average", other_keys, "names"),
    "a text about another column": (AVERAGE, other_text(
        "SELECT avg(m) AS n, avg(n) AS m FROM (SELECT id, count(*) AS n, max(cost) AS m FROM visits GROUP BY id)"), "names"),
    "a text about another aggregate": ("rows: variance", other_text("SELECT stddev_pop(age) AS v FROM patients WHERE age > 24"), "names"),
    "a text about an extreme": ("rows: variance", other_text("SELECT max(age) AS v FROM patients WHERE age > 24"), "names"),
    "a text about other bins": ("rows: share", other_text(
        "SELECT sex, 10.0 * count_if(smoker) / count(*) AS s FROM patients WHERE age > 22 GROUP BY sex"), "numbers"),
    "another column of a subquery": ("persons: called otherwise", other_text(
        "SELECT avg(x.price) AS a FROM (SELECT id, weight AS price FROM visits WHERE cost > 6) AS x"), "names"),
    "quantiles of exchanged ranks": ("rows: quantiles", other_quantiles, "names"),
    "an average by another column of a subquery": (AVERAGE, other_text(
        "SELECT avg(n) AS n, avg(m) AS m FROM (SELECT id, count(*) AS n, min(cost) AS m FROM visits GROUP BY id)"), "names"),
}  # fmt: skip
#: What no rule contradicts for sure, and none proves.
OPEN = {
    "a text about other bins",
    "a multiple by another number of the text",
    "a multiple by no number of the text",
    "another column of a subquery",
}


@pytest.mark.parametrize("title", LIES)
def test_a_lie_about_what_was_computed_is_seen(title, bundles, honest):
    name, lie, line = LIES[title]
    assert honest(name)[line] == "proved" and "broken" not in honest(name).values()
    found = verdicts(forged(bundles[name], lie))
    assert found[line] == ("open" if title in OPEN else "broken"), found


def means_forget_their_centre(patch):
    """Codes are summed minus a centre, which an average must add again."""
    patch.setattr(aggregate_formulas, "_plus", lambda shift, of: of)


def means_are_of_other_bounds(patch):
    """Numbers are moved into half of what is declared."""
    true = aggregate_formulas._mean
    patch.setattr(
        aggregate_formulas, "_mean", lambda *cells, low, high, grain: true(*cells, low=low, high=0, grain=grain)
    )


def variances_add_the_mean(patch):
    """E(x^2) + E(x)^2 for E(x^2) - E(x)^2."""
    true = aggregate_formulas._spread
    patch.setattr(aggregate_formulas, "_spread", lambda *cells, **more: replace(true(*cells, **more), operator="+"))


def deviations_are_variances(patch):
    """No square root."""
    patch.setattr(aggregate_formulas, "stddev", aggregate_formulas.variance)
    patch.setattr(formula_data, "stddev", aggregate_formulas.variance)
    patch.setattr("discreet.plan.formula.stddev", aggregate_formulas.variance)


def shorter_intervals(patch):
    """Of what is computed from several numbers: at 90% for 95%."""
    true = AnswerBlock._noise_interval
    patch.setattr(
        AnswerBlock, "_noise_interval", lambda self, of, confidence: true(self, of, confidence - (1 - confidence))
    )


def quotients_upside_down(patch):
    """The proof tells the other way round how a ratio is computed."""
    true = formula_data.FormulaTelling._node
    patch.setattr(formula_data.FormulaTelling, "_node", lambda self, name, parts: true(self, name, parts[::-1]))


def other_bins(patch):
    """A quantile is shown as the low end of its interval."""
    true = AnswerBlock._chosen

    def chosen(self, quantile):
        bins = self.bins[quantile].copy()
        self.bins[quantile][:, 1] = bins[:, 0]
        shown = true(self, quantile)
        self.bins[quantile] = bins
        return shown

    patch.setattr(AnswerBlock, "_chosen", chosen)


def keys_the_other_way(patch):
    """The labels of groups in reverse."""
    true = AnswerBlock.positions
    patch.setattr(AnswerBlock, "positions", lambda self, key: true(self, key)[::-1])


def names_the_other_way(patch):
    """Each column has the name of another one."""
    true = answer_replay.columns_of

    def columns(query):
        columns = true(query)
        return tuple(replace(each, name=other.name) for each, other in zip(columns, columns[::-1], strict=True))

    patch.setattr(answer_replay, "columns_of", columns)


#: What is wrong, in which question, and the line that tells.
MUTANTS = {
    means_forget_their_centre: ("SELECT avg(weight) AS a FROM visits WHERE cost > 1", "numbers"),
    means_are_of_other_bounds: ("SELECT avg(weight) AS a FROM visits WHERE cost > 2", "numbers"),
    variances_add_the_mean: ("SELECT var_pop(weight) AS v FROM visits WHERE cost > 3", "numbers"),
    deviations_are_variances: ("SELECT stddev_pop(weight) AS v FROM visits WHERE cost > 4", "names"),
    shorter_intervals: ("SELECT avg(weight) AS a FROM visits WHERE cost > 5", "numbers"),
    quotients_upside_down: ("SELECT sum(weight) / count(*) AS a FROM visits WHERE cost > 6", "numbers"),
    other_bins: ("SELECT median(weight) AS m FROM visits WHERE cost > 7", "numbers"),
    keys_the_other_way: ("SELECT ward, avg(weight) AS a FROM visits WHERE cost > 8 GROUP BY ward", "names"),
    names_the_other_way: ("SELECT count(*) AS n, avg(weight) AS a FROM visits WHERE cost > 9", "names"),
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_what_a_wrong_discreet_computes_is_seen(mutant, tmp_path, monkeypatch):
    question, line = MUTANTS[mutant]
    with state_in(tmp_path / "state"):
        project = world.persons_project(tmp_path / "p")
        true = verdicts(bundle_files.make_bundle(project, project.sql(question).ask(epsilon=20).id))
        assert true[line] == "proved" and "broken" not in true.values()
        mutant(monkeypatch)
        release = project.sql(question).ask(epsilon=21, fresh=True)
        found = verdicts(bundle_files.make_bundle(project, release.id))
        assert found[line] == "broken", found
