"""Aggregates of logarithms, roots and weights: what they are without noise, and what is refused."""

import pytest

from discreet.errors import Refused

#: Each with what DuckDB is asked.
AGGREGATES = {
    "avg(ln(1 + items))": None,
    "avg(sqrt(amount))": None,
    "avg(exp(items / 10))": None,
    "avg(log10(items + 1))": None,
    "sum(log2(items + 1))": None,
    "geomean(items + 1)": None,
    "geometric_mean(items)": "geomean(nullif(items, 0))",
    "exp(avg(ln(items + 1)))": None,
    "ln(sum(items))": None,
    "log10(count(*))": None,
    "weighted_avg(amount, items)": "sum(amount * items) / sum(items) filter (amount is not null)",
    "wavg(amount, items) filter (where sex = 'F')": "sum(amount * items) filter (sex = 'F') / sum(items) filter (sex = 'F' and amount is not null)",
    "sum(amount * items) / sum(items)": None,
    "regr_count(amount, items)": None,
    "regr_avgx(amount, items)": None,
    "regr_avgy(amount, items)": None,
    "regr_r2(items * 3 + 2, items)": None,
    "stddev(ln(items + 1))": None,
    "corr(sqrt(items), items)": None,
}  # fmt: skip


@pytest.mark.thin(10)
@pytest.mark.parametrize("text", AGGREGATES)
def test_it_means_what_it_means_to_duckdb(shop, source, text):
    release = shop.sql(f"select {text} as x from orders").ask(epsilon=1000)
    ((value,),), (((low, high),),) = release.rows, release.interval("0.9999999999")
    ((exact,),) = source.execute(f"select {AGGREGATES[text] or text} from orders").fetchall()
    assert value == pytest.approx(float(exact), rel=0.1)
    assert low - 1e-5 * abs(exact) <= exact <= high + 1e-5 * abs(exact)


def test_what_a_geometric_mean_leaves_out_is_said(shop):
    said = "leaves out values that are not above 0"
    assert any(said in each for each in shop.sql("select geomean(items) from orders").ask(epsilon=1).warnings)
    assert not any(said in each for each in shop.sql("select geomean(items + 1) from orders").ask(epsilon=1).warnings)


def test_a_logarithm_is_counted_where_it_has_a_value(shop):
    """In few words: the count of an average does not compute the logarithm."""
    statistics = shop.sql("select avg(ln(amount)) from orders").query.inquiry.statistics
    assert {str(statistic.where) for statistic in statistics if type(statistic).__name__ == "RowCount"} == {
        "Member(column='amount', allowed=ValueSet(runs=((1, 50001),), null=False))"
    }


REFUSED = {
    "select weighted_avg(items) from orders": "takes 2 arguments",
    "select weighted_avg(items, amount - 250) from orders": "must not be negative",
    "select geomean(note) from orders": "only numbers can be summed",
    "select geomean(distinct items) from orders": "",
    "select log(count(*)) from orders": "base 2, 10 or e",
    "select sum(log(items)) from orders": "another function",
    "select sum(exp(amount)) from orders": "exceed 15 digits",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(shop, text):
    with pytest.raises(Refused) as refused:
        shop.sql(text)
    assert REFUSED[text] in refused.value.reason
