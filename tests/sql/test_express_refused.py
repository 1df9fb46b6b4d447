"""What is not known is refused: with a caret, a reason, and a rewrite where there is one that passes."""

import pytest

from discreet.errors import Refused
from sql.patients import condition, scalar

#: The text, a word of the reason, and where the caret points (counted from 1, behind "SELECT ").
REFUSED = {
    "random()": ("randomness", 1),
    "n + random()": ("randomness", 5),
    "uuid()": ("randomness", 1),
    "gen_random_uuid()": ("randomness", 1),
    "setseed(0.5)": ("randomness", 1),
    "now()": ("current time", 1),
    "current_date": ("current time", 1),
    "current_timestamp": ("current time", 1),
    "today() - born": ("current time", 1),
    "date_diff('day', born, current_date)": ("current time", 24),
    "current_user": ("system", 1),
    "getenv('HOME')": ("system", 1),
    "version()": ("not a supported function", 1),
    "pg_sleep(1)": ("not a supported function", 1),
    "hash(note)": ("not a supported function", 1),
    "md5(note)": ("not a supported function", 1),
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
    "cbrt(n)": ("not a whole number of steps", 1),
    "log(age)": ("another function in other databases", 1),
    "log(3, age)": ("base 2, 10 or e", 1),
    "exp(n)": ("exceed 15 digits", 1),
    "ln(wide)": ("too large for a logarithm", 1),
    "ln(note)": ("expected a number", 1),
    "sqrt(open)": ("no declared bounds", 1),
    "n ** 5": ("from 1 to 4", 1),
    "n ** m": ("whole number literal", 1),
    "2 ** 0.5": ("whole number literal", 1),
    "n & 1": ("not a supported function", 1),
    "[n]": ("not a supported function", 2),
    "disease[1]": ("not a supported function", 1),
    "(n, m) = (1, 2)": ("one by one", 2),
    "$1": ("parameters are not supported", 1),
    "note collate nocase = 'a'": ("byte by byte", 1),
    "seen at time zone 'Europe/Berlin'": ("UTC", 1),
    "open + 1": ("no declared bounds", 1),
    "year(left_at)": ("no declared bounds", 1),
    "left_at::date": ("no declared bounds", 1),
    "length(note) + 1": ("any length", 1),
    "wide * wide": ("30 digits", 1),
    "wide * wide > 0": ("30 digits", 1),
    "n + 'a'": ("expected a number, got text", 1),
    "n + smoker": ("expected a number, got a boolean", 1),
    "seen - died": ("needs a unit", 1),
    "seen + 1": ("expected a number, got a timestamp", 1),
    "born + 0.5": ("whole days", 1),
    "born + interval '1 month'": ("no fixed length", 1),
    "born + interval (n) days": ("cannot be read", 1),
    "born + interval '3000000 days'": ("years 1 to 9999", 1),
    "interval '1 day'": ("only with a date", 1),
    "extract(bogus from born)": ("not a supported field", 20),
    "date_trunc('bogus', born)": ("not a supported period", 1),
    "date_diff('bogus', born, died)": ("not a supported unit", 1),
    "date_trunc(note, born)": ("not a supported period", 1),
    "date '2000-13-01'": ("is not a date", 6),
    "timestamp 'soon'": ("is not a timestamp", 11),
    "born = 'soon'": ("is not a date", 1),
    "year('soon')": ("is not a date", 1),
    "age = 'old'": ("'age' is declared integer and is compared with text", 1),
    "smoker > true": ("'smoker' is declared boolean", 1),
    "smoker = 1": ("'smoker' is declared boolean", 1),
    "born = 3": ("'born' is declared date and is compared with a number", 1),
    "note = 3": ("'note' is declared text and is compared with a number", 1),
    "note = lower(note)": ("compared only with literals", 1),
    "note = disease": ("compared only with literals", 1),
    "disease = 'flue'": ("not a declared value of 'disease'", 1),
    "lower(disease) = 'FLU'": ("not a declared value", 1),
    "coalesce(disease, 'none') = 'non'": ("not a possible value of this expression", 1),
    "disease in ('flu', 'flue')": ("not a declared value", 20),
    "n between 'a' and 'b'": ("compared with text", 1),
    "n is 1": ("syntax error at '1'", 6),
    "n between symmetric 3 and 1": ("syntax error at 'symmetric'", 11),
    "note like disease": ("the pattern must be a text literal", 1),
    "note like 'a!' escape '!'": ("ends with its escape", 1),
    "note like 'a' escape 'ab'": ("one character", 1),
    "n like 'a%'": ("expected text, got a number", 1),
    "contains(note, disease)": ("must be a text literal", 1),
    "left(note, -1)": ("0 or more", 1),
    "substr(note, n)": ("must be a whole number literal", 1),
    "substr(note, 1, 2147483648)": ("must be a whole number literal", 1),
    "note || 'a'": ("free text cannot be concatenated", 1),
    "concat(note, 'a')": ("free text cannot be concatenated", 1),
    "coalesce(note, '')": ("free text is not supported in CASE", 1),
    "case when n > 0 then note end": ("free text is not supported in CASE", 11),
    "case when n > 0 then 1 else 'a' end": ("cannot be mixed", 11),
    "coalesce(n, born)": ("cannot be mixed", 1),
    "least(disease, 'a')": ("LEAST and GREATEST compare", 1),
    "cast(note as integer)": ("free text cannot be cast", 6),
    "cast(born as integer)": ("is not a number", 6),
    "cast(n as date)": ("neither a date nor", 6),
    "cast(n as blob)": ("this type is not supported", 6),
    "cast(n as decimal(39, 2))": ("38 digits", 6),
    "cast(cost as varchar)": ("few possible values can be cast to text", 6),
    "round(n, m)": ("must be a whole number literal", 1),
    "round(n, 19)": ("must be a whole number literal", 1),
    "floor(n to day)": ("syntax error at 'to'", 9),
    "floor()": ("floor is missing an argument", 1),
    "ceil()": ("ceil is missing an argument", 1),
    "mod(n, m, 3)": ("too many arguments for mod", 11),
    "ltrim(note, 'a', 'b')": ("too many arguments for ltrim", 18),
    "date_trunc('day', born, 1)": ("too many arguments for date_trunc", 25),
    '"mod"(n, m, 3)': ("too many arguments for mod", 13),
    "cost // 2": ("// divides only whole numbers", 1),
    "position('a' in note)": ("not supported", 10),
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
    "log(age) > 3": "log10(age) > 3",
    "(n, m) = (1, 2)": "n = 1 and m = 2",
}


@pytest.mark.parametrize("text", REWRITES)
def test_the_rewrite_passes(text):
    with pytest.raises(Refused) as refused:
        scalar(text)
    assert refused.value.hint
    scalar(REWRITES[text])
