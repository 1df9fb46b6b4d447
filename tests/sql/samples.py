"""Every form of scalar SQL that is known, each at least once."""

_ARITHMETIC = r"""
n + m * 2; n - m; -n * 3; m - n - 3; m - (n - 3); n / 4; n // m; n % m; n % 7; n % -7; n // 7; n // -7; 10 - n % 3
cost * 2; cost + 0.5; weight * cost; cost - weight; age * 1.5; n * m / 4; (n + m) / 2; weight % 1; weight % 0.3
cost % weight; mod(n, 7); abs(n); abs(cost); abs(-age); sign(n); sign(cost); power(n, 2); pow(m, 3); n ** 3; m ^ 4
-m ** 2; 2 * m ** 2; - m ^ 2; 2 ** 2 * m; floor(n / 10); floor(n / 10) * 10; floor(cost); ceil(n / 7); ceiling(cost)
round(n / 4); round(cost, 1); round(cost); round(n, -1); round(n / 8, 2); round(-weight); trunc(n / 7); trunc(cost)
trunc(cost, 1); least(n, m, 3); greatest(n, m); least(n, null); greatest(cost, weight, 0); least(born, died)
greatest(seen, born); n / m; cost / weight; age / n; 1 / m; n / 0; n % 0; n // 0; floor(n / m); wide + wide; wide - 1
wide * 1000; wide * n; abs(wide); round(wide, -3); wide // 7; wide % 1000; wide / 7; null + 1
+n; 1_000 + n; 1e2 * m; .5 * n; (n > 0)::int * m; smoker::int + alive::int; n::double / 3; open * 2; open / 10
"""
_REALS = r"""
sqrt(age); sqrt(cost); sqrt(weight * weight); sqrt(n); ln(age); ln(cost); ln(n); log10(weight); log10(cost); log2(age)
log(10, cost); ln(weight / 4); exp(m); exp(weight / 20); exp(cost / 1000); exp(n / 7); sqrt(abs(wide)); ln(age + 1)
floor(ln(cost)); round(log10(cost), 1); sqrt(4); ln(null); sqrt(cost) > 50; ln(cost) between 3 and 6; exp(ln(age) / 2)
"""
_CHOICES = r"""
case when n > 3 then m when n < -3 then -1 end; case m when 1 then 10 when 2 then 20 else 0 end; coalesce(n, m, 0)
ifnull(n, 7); nvl(n, m); nullif(m, 2); nullif(n, m); nullif(disease, 'flu'); if(n > 0, m, n); iif(smoker, 1, 2); if(n > 0, m)
case when smoker then disease else 'no' end; case disease when 'flu' then 1 else 2 end; case when n > 0 then cost else m end
case when n > 0 then 'pos' when n < 0 then 'neg' end; case when m > 0 then born else died end; coalesce(smoker, false)
coalesce(born, '2000-01-01'); coalesce(seen, born); coalesce(disease, 'none'); coalesce(disease, other, sex)
coalesce(open, 0); case when true then n else m end; case when false then n end; case when null then 1 else n end
least(open, 100); greatest(open, wide); case when n > 0 then null else m end; coalesce(null, n); coalesce(n)
"""
_TEXTS = r"""
lower(disease); upper(disease); lower(note); upper(note); lcase(note); trim(note); ltrim(note); rtrim(note)
trim(note, 'x'); trim(both 'xa' from note); trim(leading from note); trim(note, ''); trim(other); rtrim(other, 'u ')
length(note); length(disease); len(other); least(length(note), 3) + 1; substr(note, 2, 3); substr(note, -3, 2)
substr(note, 0, 2); substr(note, 0); substr(note, 3, -2); substr(note, -2, -2); substr(note, 2, -5); substr(note, 0, -1)
substr(note, -400, 350); substr(note, 2147483647, 2147483647); substr(note, -2147483647, 1); substring(note, 2)
substring(note from 2 for 3); substr(disease, 2, 2); left(note, 2); right(note, 2); right(note, -1); right(note, 0)
left(disease, -1); left(disease, 2); right(disease, 0); right(disease, -9); disease || '-' || sex; 'a' || disease
concat(disease, sex, 'x'); concat(disease, null); concat('a', 'b'); note like 'a%'; note like '%b'; note like '_'
note like 'a\'; note like '%\%'; note like '\'; note like ''; note like '%'; note like 'a_b'; note like '%a%b%'
note like 'a!%' escape '!'; note like '!!' escape '!'; note like 'a\%' escape '\'; note not like 'a%'
note not like '%!_%' escape '!'; note ilike 'A%'; note ilike '%É%'; note not ilike 'A_'; note ilike 'İ'
note ilike 'AX%' escape 'X'; disease like '%l%'; disease ilike 'm%'; disease not like '_%'; starts_with(note, 'a')
contains(note, 'b'); ends_with(note, 'x'); contains(note, ''); contains(note, '%'); starts_with(note, '_')
starts_with(disease, 'f'); contains(other, ' '); ends_with(note, '\'); note like 'it''s'; lower(trim(note)) like 'a%'
upper(substr(note, 1, 1)) = 'A'; lower(note) = 'ab'; trim(note) >= 'a'; note = 'a'; note < 'b'; note >= 'É'; note <> ''
'a' = note; note in ('a', 'ab'); note not in ('a', ''); note between 'a' and 'b'; note is null; note is distinct from 'a'
note is not distinct from null; cast(note as varchar) = 'a'; 'a' || 'b' = 'ab'; 'a' < 'b'
"""
_CONDITIONS = r"""
n in (1, 2, null); n not in (1, 2, null); n not in (1, 2); n in (2.5); n not in (2.5); n in (m, 3); n not in (m, 3)
n between m and 10; n between -3 and 3; n not between m and 3; n between 3 and -3; n between null and 3; n is null
(n > 3) is null; n is not null; n isnull; n notnull; smoker is true; smoker is not true; smoker is false
smoker is not false; smoker is unknown; (n > m) is not true; (n > m) is false; n is distinct from 3
n is not distinct from m; n is distinct from m; n is not distinct from null; n <=> 3; smoker is distinct from alive
disease is distinct from other; not smoker; not (n > 3 and m < 2); n > 3 or m is null; smoker and n > 3; smoker or alive
smoker = (n > 0); smoker <> alive; smoker = true; smoker = 'false'; smoker; disease = other; disease < other
disease <> other; disease = lower(disease); disease <= 'b'; disease > 'flu'; disease = 'flu'; disease in ('flu', '')
disease not in ('flu', null); disease between 'a' and 'g'; lower(disease) = 'mumps'; sex = 'F'; 'F' = sex; other = 10
born < died; born = '1970-01-01'; born <= died and n > 1; born between '1960-01-01' and died; born > '1969-12-31 12:00:00'
seen > born; seen < '2000-01-01 12:00:00'; died = seen::date; seen >= died; left_at < seen; left_at > '2000-01-01'
left_at is null; open > 5; open = n; open < wide; open / 10 > 3; open * 2 < 7; open > 1e30; open <> 2; open in (1, 2)
3 < n; n != m; n == m; n <> 3; n = 1 or null; not null; n > null; null is null; true; false; 1 < 2; n = m is true
n is null and m is null; n is null or not smoker and m > 1; n = 3 and not m = 2; not n = 3 or m = 1
age + n >= 100; age * 2 <= n * n; cost >= 10.555; cost = 10.01; cost * 100 = 1001; weight % 1 = 0.5; n / m > 1.5
n / m = 0.5; n / m <> 2; weight / m < -2; cost / 3 > 100; n / 3 = 1; floor(n / 10) = 3; ceil(n / 7) < -2; round(n / 4) = -2
trunc(n / 7) >= 0; round(cost) <= 10; abs(n) < 7; n % 7 = 3; -n > 40; 2 * n - 3 * m < 10; wide / 7 > 3; wide * 3 > wide; wide * n > 2e19; wide * n between -3e19 and 1e19
n > m + 1 and n < m * 10; case when smoker then n > 3 else m > 0 end; coalesce(smoker, n > 3); if(smoker, alive, n = 0)
length(note) > 3; length(disease) = 3; extract(year from born) = 1970; date_trunc('month', seen) >= '2000-01-01'
month(died) in (1, 2); dayname(born) = 'Monday'; date_diff('day', born, died) > 1000; seen + interval '1 hour' < '1970-01-01'
"""
_MOMENTS = r"""
extract(year from born); extract(quarter from born); extract(month from seen); extract(day from died)
extract(hour from seen); extract(minute from seen); extract(second from seen); extract(dow from born)
extract(isodow from born); extract(doy from born); extract(week from born); extract(isoyear from born)
extract(epoch from born); extract(epoch from seen); extract(hour from born); extract('year' from seen); year(seen)
month(born); quarter(seen); day(seen); dayofmonth(born); hour(seen); minute(seen); second(seen); dayofweek(seen)
isodow(seen); dayofyear(seen); week(seen); weekofyear(died); weekday(born); isoyear(died); epoch(died)
date_part('dow', died); datepart('month', seen); date_trunc('month', born); date_trunc('year', seen)
date_trunc('week', died); date_trunc('quarter', seen); date_trunc('day', seen); date_trunc('hour', seen)
date_trunc('minute', seen); date_trunc('second', seen); date_trunc('week', seen); date_trunc('day', born)
date_trunc('hour', born); datetrunc('month', seen); date_diff('day', born, died); date_diff('day', seen, born)
date_diff('week', died, born); date_diff('week', died, seen); date_diff('month', died, seen)
date_diff('quarter', died, seen); date_diff('year', died, born); date_diff('hour', died, seen)
date_diff('minute', seen, died); date_diff('second', seen, timestamp '2000-01-01'); date_diff('day', died, '2000-01-01')
datediff('day', born, date '2000-01-01'); born - died; born - date '2000-01-01'; born + 3; died - 3; died + m; 3 + died
born + interval '3 days'; seen + interval '90 minutes'; seen - interval '1' hour; born + interval 2 weeks
born + interval '36 hours'; interval '1 day' + seen; seen + interval '1.5 hours'; date_add(born, interval 3 day)
dayname(born); monthname(seen); date '2000-01-01' + m; timestamp '2000-01-01 00:00:00'; date '2000-01-01'
year(date '2000-01-01'); date(seen)
"""
_CASTS = r"""
cast(cost as integer); cast(weight as integer); cast(n as tinyint); cast(n / 8 as decimal(5, 2)); cast(cost as decimal(10, 1))
cast(smoker as integer); cast(n as boolean); cast(born as timestamp); cast(seen as date); cast(seen as timestamp)
try_cast(other as integer); try_cast(other as double); try_cast(other as date); try_cast(other as timestamp)
try_cast(other as boolean); try_cast(cost as tinyint); try_cast(n as utinyint); try_cast(wide as smallint)
try_cast(open as integer); try_cast(cost as decimal(4, 2)); cast(n as varchar); cast(smoker as varchar)
cast('3' as integer) + n; '1.5'::double * m; '2000-01-01'::date; cast(null as integer); cast(disease as varchar)
cost::bigint; n::hugeint; weight::float; cost::decimal(18, 3); try_cast('x' as integer); (n > 3)::int; cast(n as real)
"""

#: Which operator binds more tightly: the parser must read it as DuckDB does.
_PRECEDENCE = r"""
n % 3 * 2; n // 2 % 3; -n % 3; 2 - -n; not smoker = alive; n > 1 is true; n + 1 = m is not null; n - m - 1 - age
n / 2 / 3; n * 2 // 3; n // 2 * 3; -n ** 2; n ** 2 ** 1; n = 1 or m = 1 and age > 50; not n = 1 and m = 1
n between 1 and 5 and m > 0; n between 1 and m + 3 or smoker; not n between 1 and 5; n in (1, 2) = smoker
n is null = smoker; disease || sex = 'fluF'; disease || sex like 'flu%'; -n::int; n + m::int; born - died + 1
born + 1 - died; not not smoker; - - n; n < 3 and not m < 2 or alive; case when n > 1 then 1 else 2 end + 1
n - 3 * -m; ((n + 1)) * 2; n is distinct from m and smoker; n + m between 1 and 3; smoker is true is false
note like 'a' || '%'; 3 between n and m; n % 3 between 0 and 1; n * m % 5; 2 ^ 2 ^ 1 * n; n ^ 2 * 2; - n ^ 2 + 1
"""


def _texts(block):
    return [text.strip() for line in block.strip().splitlines() for text in line.split(";") if text.strip()]


_BLOCKS = (_ARITHMETIC, _REALS, _CHOICES, _TEXTS, _CONDITIONS, _MOMENTS, _CASTS, _PRECEDENCE)
SAMPLES = [text for block in _BLOCKS for text in _texts(block)]

#: Functions whose values are on a grid that need not hold them.
ROUNDED = ("sqrt(", "ln(", "log", "exp(")


def _positive(text):
    return f"case when ({text}) > 0 then ({text}) end"


def _not_negative(text):
    return f"case when ({text}) >= 0 then ({text}) end"


#: What DuckDB is asked instead, where it would overflow, has another type, or makes an infinity of a quotient by 0.
INSTEAD = {
    **{f"ln({of})": f"ln({_positive(of)})" for of in ("age", "cost", "n", "weight / 4", "age + 1")},
    **{f"sqrt({of})": f"sqrt({_not_negative(of)})" for of in ("n", "cost")},
    "log10(weight)": f"log10({_positive('weight')})",
    "log10(cost)": f"log10({_positive('cost')})",
    "log2(age)": f"log2({_positive('age')})",
    "log(10, cost)": f"log10({_positive('cost')})",
    "floor(ln(cost))": f"floor(ln({_positive('cost')}))",
    "round(log10(cost), 1)": f"round(log10({_positive('cost')}), 1)",
    "sqrt(cost) > 50": f"sqrt({_not_negative('cost')}) > 50",
    "ln(cost) between 3 and 6": f"ln({_positive('cost')}) between 3 and 6",
    "exp(ln(age) / 2)": f"exp(ln({_positive('age')}) / 2)",
    "n / m": "n / nullif(m, 0)",
    "1 / m": "1 / nullif(m, 0)",
    "cost / weight": "cost / nullif(weight, 0)",
    "age / n": "age / nullif(n, 0)",
    "n / 0": "null",
    "floor(n / m)": "floor(n / nullif(m, 0))",
    "n / m > 1.5": "n / nullif(m, 0) > 1.5",
    "n / m = 0.5": "n / nullif(m, 0) = 0.5",
    "n / m <> 2": "n / nullif(m, 0) <> 2",
    "weight / m < -2": "weight / nullif(m, 0) < -2",
    "wide + wide": "wide::hugeint + wide",
    "wide * 1000": "wide::hugeint * 1000",
    "wide * n": "wide::hugeint * n",
    "wide * 3 > wide": "wide::hugeint * 3 > wide",
    "wide * n > 2e19": "wide::hugeint * n > 20000000000000000000::hugeint",
    "wide * n between -3e19 and 1e19": "wide::hugeint * n between -30000000000000000000 and 10000000000000000000",
    "open * 2": "open::hugeint * 2",
    "open * 2 < 7": "open::hugeint * 2 < 7",
    "nvl(n, m)": "ifnull(n, m)",
    "iif(smoker, 1, 2)": "if(smoker, 1, 2)",
    "if(n > 0, m)": "case when n > 0 then m end",
    "n <=> 3": "n is not distinct from 3",
    "other = 10": "other = '10'",
    "died + m": "died + m::integer",
    "date '2000-01-01' + m": "date '2000-01-01' + m::integer",
}
