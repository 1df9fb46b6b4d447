"""Joins: conditions beside the equalities, what may be picked from a public table, and joins within joins."""

import pytest

from discreet.errors import Refused
from discreet.plan.relation import Filter, JoinPerson, JoinPublic
from sql.test_read import reading


def plan(text):
    return reading(text).inquiry.plan


def test_a_condition_on_the_public_side_picks_its_rows():
    text = "select ward, count(*) from patients p left join wards w on p.sex = w.sex{} group by ward"
    every, east = plan(text.format("")), plan(text.format(" and w.ward like 'e%'"))
    assert (every.fan_out, east.fan_out, east.outer) == (2, 1, True)
    assert every.content != east.content
    picked = plan(text.replace("wards w", "(select * from wards where ward = 'east') w").format(""))
    assert picked == east


def test_a_condition_on_the_private_side_picks_its_rows_before_a_left_join():
    on = plan("select count(*) from visits v left join stays s on v.id = s.id and s.days > 3")
    assert isinstance(on, JoinPerson) and isinstance(on.other, Filter) and on.outer
    inner = plan("select count(*) from visits v left join (select * from stays where days > 3) s on v.id = s.id")
    assert inner.other == on.other


def test_a_condition_on_both_sides_picks_rows_of_a_plain_join():
    on = plan("select count(*) from visits v join stays s on v.id = s.id and v.age > s.days")
    where = plan("select count(*) from visits v join stays s on v.id = s.id where v.age > s.days")
    assert isinstance(on, Filter) and on == where
    public = plan("select count(*) from patients p join wards w on p.sex = w.sex and p.age > 30")
    assert public == plan("select count(*) from patients p join wards w on p.sex = w.sex where p.age > 30")


REFUSED = {
    "select count(*) from visits v left join stays s on v.id = s.id and v.age > 3": ("LEFT JOIN", 68),
    "select count(*) from patients p left join wards w on p.sex = w.sex and p.age > 30": ("LEFT JOIN", 72),
    "select count(*) from patients p left join wards w on p.sex = w.sex and p.disease = w.ward || 'x'": ("LEFT JOIN", 72),
    "select count(*) from patients p join wards w on w.ward > 'a'": ("needs an equality", 49),
    "select count(*) from patients p join wards w on w.ward = w.sex": ("needs an equality", 49),
    "select count(*) from visits v join stays s on v.age = s.days": ("on the person column", 47),
    "select count(*) from visits v join stays s on v.id = s.id and s.days > 300": ("no row can satisfy", 63),
    "select count(*) from patients p join (select sex, count(*) n from wards group by sex) w on p.sex = w.sex": (
        "can only select columns and filter rows", 46),
    "select count(*) from patients p join (select sex, lower(ward) n from wards) w on p.sex = w.sex": (
        "can only select columns and filter rows", 51),
    "select count(*) from (select * from wards)": ("is public", 37),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refused_for_the_true_reason(text):
    with pytest.raises(Refused) as caught:
        reading(text)
    words, column = REFUSED[text]
    assert words in caught.value.reason and caught.value.column == column


def test_the_rewrite_of_a_left_joins_condition_passes():
    joined = "select ward, count(*) from patients p left join wards w on {} group by ward"
    with pytest.raises(Refused) as caught:
        reading(joined.format("p.sex = w.sex and p.age > 30"))
    assert caught.value.hint.startswith("put it into the equality: CASE WHEN p.age > 30 THEN … END = …")
    reading(joined.format("case when p.age > 30 then p.sex end = w.sex"))


def test_a_public_table_is_picked_from():
    direct = plan("select ward, count(*) from patients p join wards w on p.sex = w.sex group by ward")
    picked = reading(
        "with a as (select sex s, ward from wards), b as (select * from (select s, ward from a)) "
        "select ward, count(*) from patients p join b on p.sex = b.s where s = 'F' group by ward"
    )
    assert isinstance(direct, JoinPublic)
    assert picked.inquiry.plan.source.columns == ("discreet:1.s", "discreet:1.ward")
    assert picked.inquiry.plan.source.fan_out == 2
    assert reading("select ward, count(*) from (select * from wards) w join patients p on p.sex = w.sex group by ward")


def test_each_join_has_a_number_of_its_own():
    asked = reading(
        "select r.ward, w.ward as mine, count(*) from visits v join wards w on v.sex = w.sex "
        "join (select x.id, w.ward from visits x join wards w on x.sex = w.sex where w.ward = 'east') r on v.id = r.id "
        "group by r.ward, w.ward"
    )
    assert sorted(asked.publics) == [1, 2]
    assert asked.reach.rows == 3 * 2 * 3 * 2
    assert len({key.typed.expression.column for key in asked.keys}) == 2


@pytest.mark.parametrize("condition", ["age = r.age", "age > 3"])
def test_a_bare_name_in_on_that_both_have_is_refused(tmp_path, condition):
    import discreet
    from discreet.errors import Refused

    (tmp_path / "t.csv").write_text("sex,age\nF,1\n")
    (tmp_path / "r.csv").write_text("sex,age\nF,1\n")
    (tmp_path / "discreet.toml").write_text(
        """
[tables.t]
source = "t.csv"
budget = { epsilon = 1 }
columns = { sex = { type = "category", values = ["F", "M"] }, age = { type = "integer", low = 0, high = 9 } }
[tables.r]
source = "r.csv"
public = true
columns = { sex = { type = "category", values = ["F", "M"] }, age = { type = "integer" } }
"""
    )
    project = discreet.init(tmp_path)
    with pytest.raises(Refused, match="in both tables"):
        project.sql(f"select count(*) from t join r on t.sex = r.sex and {condition}")
    project.sql("select count(*) from t join r on t.sex = r.sex and t.age = r.age")
    project.sql("select count(*) from t join r using (sex, age)")
