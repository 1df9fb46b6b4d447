"""What is not known is refused: with a caret, a reason, and a rewrite where there is one that passes."""

import pytest

from discreet.errors import Refused
from sql.patients import condition, scalar

#: The text, a word of the reason, and where the caret points (counted from 1, behind "SELECT ").
REFUSED = {
    "random()": ("chance", 1),
    "n + random()": ("chance", 5),
    "uuid()": ("chance", 1),
    "gen_random_uuid()": ("chance", 1),
    "setseed(0.5)": ("chance", 1),
    "now()": ("time of asking", 1),
    "current_date": ("time of asking", 1),
    "current_timestamp": ("time of asking", 1),
    "today() - born": ("time of asking", 1),
    "date_diff('day', born, current_date)": ("time of asking", 24),
    "current_user": ("machine", 1),
    "getenv('HOME')": ("machine", 1),
    "version()": ("not among the functions", 1),
    "pg_sleep(1)": ("not among the functions", 1),
    "hash(note)": ("not among the functions", 1),
    "md5(note)": ("not among the functions", 1),
    "regexp_matches(note, 'a')": ("regular expressions", 1),
    "note similar to 'a'": ("regular expressions", 1),
    "note ~ 'a'": ("regular expressions", 1),
    "row_number() over ()": ("window functions", 1),
    "sum(n) over (partition by m)": ("window functions", 1),
    "sum(n)": ("aggregate", 1),
    "n + max(m)": ("aggregate", 9),
    "sum(n) filter (where m > 1)": ("aggregate", 1),
    "(select 1)": ("subquery", 9),
    "n in (select 1)": ("IN takes a list", 1),
    "exists (select 1)": ("EXISTS", 16),
    "sqrt(n)": ("no whole number of steps", 1),
    "ln(age)": ("no whole number of steps", 1),
    "exp(n)": ("no whole number of steps", 1),
    "n ** 5": ("fourth", 1),
    "n ** m": ("whole number, written out", 1),
    "2 ** 0.5": ("whole number, written out", 1),
    "n & 1": ("not among the functions", 1),
    "[n]": ("not among the functions", 2),
    "disease[1]": ("not among the functions", 1),
    "(n, m) = (1, 2)": ("one by one", 2),
    "$1": ("nothing to fill this in", 1),
    "note collate nocase = 'a'": ("byte by byte", 1),
    "seen at time zone 'Europe/Berlin'": ("UTC", 1),
    "open + 1": ("no declared bounds", 1),
    "year(left_at)": ("no declared bounds", 1),
    "left_at::date": ("no declared bounds", 1),
    "length(note) + 1": ("any length", 1),
    "wide * wide": ("30 digits", 1),
    "wide * wide > 0": ("30 digits", 1),
    "n + 'a'": ("a number belongs here, not a text", 1),
    "n + smoker": ("a number belongs here, not true or false", 1),
    "seen - died": ("no unit", 1),
    "seen + 1": ("a number belongs here, not a timestamp", 1),
    "born + 0.5": ("whole days", 1),
    "born + interval '1 month'": ("no fixed length", 1),
    "born + interval (n) days": ("cannot be read", 1),
    "born + interval '3000000 days'": ("years 1 to 9999", 1),
    "interval '1 day'": ("is added to a date", 1),
    "extract(bogus from born)": ("not a known field", 20),
    "date_trunc('bogus', born)": ("not a known period", 1),
    "date_diff('bogus', born, died)": ("not a known unit", 1),
    "date_trunc(note, born)": ("not a known period", 1),
    "date '2000-13-01'": ("is not a date", 6),
    "timestamp 'soon'": ("is not a timestamp", 11),
    "born = 'soon'": ("is not a date", 1),
    "year('soon')": ("is not a date", 1),
    "age = 'old'": ("'age' is declared integer and is compared with a text", 1),
    "smoker > true": ("'smoker' is declared boolean", 1),
    "smoker = 1": ("'smoker' is declared boolean", 1),
    "born = 3": ("'born' is declared date and is compared with a number", 1),
    "note = 3": ("'note' is declared text and is compared with a number", 1),
    "note = lower(note)": ("compared with literals only", 1),
    "note = disease": ("compared with literals only", 1),
    "disease = 'flue'": ("not a declared value of 'disease'", 1),
    "lower(disease) = 'FLU'": ("not a declared value", 1),
    "coalesce(disease, 'none') = 'non'": ("not a value that this can take", 1),
    "disease in ('flu', 'flue')": ("not a declared value", 20),
    "n between 'a' and 'b'": ("compared with a text", 1),
    "n is 1": ("cannot be read at '1'", 6),
    "n between symmetric 3 and 1": ("cannot be read at 'symmetric'", 11),
    "note like disease": ("the pattern must be a text, written out", 1),
    "note like 'a!' escape '!'": ("ends with its escape", 1),
    "note like 'a' escape 'ab'": ("one character", 1),
    "n like 'a%'": ("a text belongs here, not a number", 1),
    "contains(note, disease)": ("written out", 1),
    "left(note, -1)": ("0 or more", 1),
    "substr(note, n)": ("written out", 1),
    "substr(note, 1, 2147483648)": ("written out", 1),
    "note || 'a'": ("free texts are not joined", 1),
    "concat(note, 'a')": ("free texts are not joined", 1),
    "coalesce(note, '')": ("free text cannot be chosen", 1),
    "case when n > 0 then note end": ("free text cannot be chosen", 11),
    "case when n > 0 then 1 else 'a' end": ("cannot be mixed", 11),
    "coalesce(n, born)": ("cannot be mixed", 1),
    "least(disease, 'a')": ("LEAST and GREATEST compare", 1),
    "cast(note as integer)": ("a free text is not cast", 6),
    "cast(born as integer)": ("is not a number", 6),
    "cast(n as date)": ("neither a date nor", 6),
    "cast(n as blob)": ("this type is not known", 6),
    "cast(n as decimal(39, 2))": ("38 digits", 6),
    "cast(cost as varchar)": ("few values become texts", 6),
    "round(n, m)": ("written out", 1),
    "round(n, 19)": ("written out", 1),
    "floor(n to day)": ("cannot be read at 'to'", 9),
    "floor()": ("floor of what?", 1),
    "ceil()": ("ceil of what?", 1),
    "mod(n, m, 3)": ("one argument too many for mod", 11),
    "ltrim(note, 'a', 'b')": ("one argument too many for ltrim", 18),
    "date_trunc('day', born, 1)": ("one argument too many for date_trunc", 25),
    '"mod"(n, m, 3)': ("one argument too many for mod", 13),
    "cost // 2": ("// divides whole numbers", 1),
    "position('a' in note)": ("not known", 10),
    "nosuch = 1": ("there is no column", 1),
    'sex = "F"': ("there is no column", 7),
    "x.age": ("there is no column", 1),
    "*": ("rows of people", 1),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_a_caret(text):
    reason, column = REFUSED[text]
    with pytest.raises(Refused) as refused:
        scalar(text)
    assert reason in refused.value.reason
    assert refused.value.sql == f"SELECT {text}"
    assert refused.value.column == column + len("SELECT "), refused.value
    assert len(refused.value.reason) < 120 and not refused.value.reason.endswith(".")


@pytest.mark.parametrize("text", ["age", "disease", "note", "born", "n + 1", "3", "'a'", "case when n > 0 then 1 end"])
def test_what_is_no_condition(text):
    with pytest.raises(Refused, match="is not boolean"):
        condition(text)


#: A hint that is a rewrite passes.
REWRITES = {
    "born + interval '1 month'": "born + interval '30 days'",
    "length(note) + 1": "least(length(note), 1000) + 1",
    "seen - died": "date_diff('second', seen, died)",
    "cost // 2": "floor(cost / 2)",
    "n between symmetric 3 and m": "n between least(3, m) and greatest(3, m)",
    "left(note, -1)": "substr(note, 1, 3)",
    "regexp_matches(note, 'a')": "contains(note, 'a')",
    "n + smoker": "n + cast(smoker as integer)",
    "sqrt(n) > 3": "n ** 2 > 3",
    "(n, m) = (1, 2)": "n = 1 and m = 2",
}


@pytest.mark.parametrize("text", REWRITES)
def test_the_rewrite_passes(text):
    with pytest.raises(Refused) as refused:
        scalar(text)
    assert refused.value.hint
    scalar(REWRITES[text])
