"""Groups of NULL keys can be left out; totals are no such groups, and are called total wherever people read."""

from discreet.console.pages.release_view import page_sheet
from discreet.release import Release


def ask(shop, sql, epsilon=1000):
    """Noise so small that a group of nobody has none: of a scale of 0.04 or less, one draw in 10^10 is not 0."""
    return shop.sql(sql).ask(epsilon=epsilon, fresh=True)


def test_what_is_left_out_is_not_counted_among_the_numbers_that_are_hidden(shop):
    release = ask(shop, "select city, avg(amount) a from orders where city = 'bonn' group by city")
    fewer = release.without_null_groups()
    assert any("3 of 4 numbers are not shown" in line for line in release.warnings)
    assert any("2 of 3 numbers are not shown" in line for line in fewer.warnings)
    assert len(fewer.warnings) == len(release.warnings)
    assert [row[0] for row in fewer.rows] == ["bonn", "trier", "ulm"]
    assert fewer.intervals == release.intervals[:3] and fewer.best() == release.best()[:3]
    assert fewer.interval(0.5) == release.interval(0.5)[:3]


def test_an_answer_without_null_groups_stays_as_it_is(shop):
    release = ask(shop, "select sex, count(*) n from orders group by sex")
    assert release.without_null_groups() is release


def test_totals_are_kept_and_called_that(shop):
    release = ask(shop, "select city, sex, count(*) n from orders group by cube(city, sex)")
    shown = [[release.cell_text(row, place) for place in (0, 1)] for row in range(len(release))]
    assert (
        ["NULL", "F"] in shown
        and ["total", "F"] in shown
        and ["NULL", "total"] in shown
        and shown[-1] == ["total", "total"]
    )
    fewer = release.without_null_groups()
    kept = [[fewer.cell_text(row, place) for place in (0, 1)] for row in range(len(fewer))]
    assert kept == [keys for keys in shown if "NULL" not in keys]
    assert str(release).count("total") >= 5 and "total" in release._repr_html_()
    sheet = page_sheet({**release.to_data(best=True)}, best=True)
    assert [[cell["text"] for cell in row[:2]] for row in sheet["cells"]] == shown


def test_a_key_is_no_total_where_all_groups_have_it(shop):
    plain = ask(shop, "select city, count(*) n from orders group by city")
    partly = ask(shop, "select sex, city, count(*) n from orders group by sex, rollup(city)")
    assert plain.totals == () and "totals" not in plain.to_data()
    assert set(partly.totals) == {(), (1,)}


def test_sorting_and_limits_keep_totals_with_their_rows(shop):
    release: Release = ask(shop, "select city, count(*) n from orders group by rollup(city) order by n desc limit 2")
    assert release.totals[0] == (0,) and release.totals[1] == () and release.cell_text(0, 0) == "total"
