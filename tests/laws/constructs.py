"""Expressions that turn some row into an error in some engine: DuckDB, PostgreSQL, Spark, SQLite, MySQL.

Each is over the columns of one clinic: age, cost (numbers with bounds), big (without), day, moment, flag, sort, digits
(categories; the values of the second are written like numbers) and note (free text).
"""

NUMBERS = r"""
age / 0 ; age / (age - age) ; age % 0 ; mod(age, age - 3) ; 1 / age ; 1 / (age - 30) ; cost / cost ; age // 0 ; age // (age - 1)
fmod(age, 0) ; divide(age, 0) ; div(age, 0) ; remainder(age, 0) ; 1.0 / cost ; age / nullif(age, age) ; 100 / (cost - 5)
big + 1 ; big * big ; big - 9223372036854775807 ; -big ; abs(big) ; big * 2 ; big + big ; age * 9223372036854775807
age + 9223372036854775807 ; age * 1000000000000000000000000 ; cost * 99999999999999999999 ; 2 ** big ; 2 ** age ; 10 ** age
power(age, 400) ; power(age, -1) ; power(0, -1) ; pow(age - 50, 0.5) ; (age - 50) ** 0.5 ; exp(age * 1000) ; exp(big) ; expm1(age)
sqrt(age - 50) ; sqrt(-age) ; cbrt(age) ; ln(age) ; ln(age - 50) ; log(age - 50) ; log10(0) ; log2(age - 99) ; log(age, 0) ; ln(0)
asin(age) ; acos(age) ; acosh(age - 50) ; atanh(age) ; tan(age) ; cot(0) ; gamma(age - 50) ; lgamma(0) ; lngamma(age)
factorial(age) ; factorial(-age) ; age ! ; !age ; gcd(age, 0) ; lcm(big, big) ; bit_count(age) ; age << 70 ; age << -1 ; age >> 65
1 << age ; big << 1 ; age & 3 ; age | 3 ; xor(age, 3) ; ~age ; round(age, 400) ; round(cost, age) ; trunc(cost, 99) ; ceil(big)
even(age) ; sign(cost) ; nextafter(cost, 1) ; width_bucket(age, 0, 0, 5) ; bround(cost, 1) ; greatest(age, big) ; least(big, 1)
""".replace("\n", ";")

CASTS = r"""
CAST(note AS INTEGER) ; CAST(note AS DOUBLE) ; CAST(note AS DATE) ; CAST(note AS TIMESTAMP) ; CAST(note AS BOOLEAN)
CAST(note AS DECIMAL(3, 1)) ; CAST(note AS UUID) ; CAST(note AS BLOB) ; CAST(note AS INTEGER[]) ; CAST(note AS JSON)
CAST(note AS INTERVAL) ; CAST(note AS TIME) ; CAST(note AS BIT) ; note::int ; note::date ; TRY_CAST(note AS INTEGER)
CAST(age AS TINYINT) ; CAST(age AS DECIMAL(1, 0)) ; CAST(age * 1000 AS SMALLINT) ; CAST(big AS TINYINT) ; CAST(big AS INTEGER)
CAST(big AS UTINYINT) ; CAST(-age AS UINTEGER) ; CAST(cost AS TINYINT) ; CAST(cost * 1000 AS DECIMAL(2, 1)) ; CAST(big AS BOOLEAN)
CAST(sort AS INTEGER) ; CAST(digits AS INTEGER) ; CAST(digits AS TINYINT) ; CAST(digits AS DATE) ; CAST(digits AS BOOLEAN)
CAST(sort AS DATE) ; CAST(age AS DATE) ; CAST(day AS INTEGER) ; CAST(moment AS TIME) ; CAST(flag AS DATE) ; CAST(age AS VARCHAR)
CAST(moment AS DATE) ; CAST(day AS TIMESTAMP) ; CAST(big AS TIMESTAMP) ; CAST(age AS BLOB) ; to_number(note, '99') ; int4(note)
try_cast(sort AS TINYINT) ; safe_cast(note AS INT64) ; convert(note, SIGNED) ; CAST(note AS BIGINT) + 1 ; CAST(age AS STRUCT(a INT))
""".replace("\n", ";")

TEXTS = r"""
substr(note, 1, -1) ; substr(note, 0, 0) ; substr(note, -1) ; substring(note FROM 0 FOR -5) ; left(note, -1) ; right(note, -5)
substr(note, 2147483648) ; substr(note, 1, 99999999999) ; substr(note, age) ; substr(note, 1, age - 50) ; note[0] ; note[1:2] ; note[-1]
note LIKE '\' ; note LIKE '%\' ESCAPE '\' ; note LIKE 'a' ESCAPE '' ; note LIKE 'a' ESCAPE 'ab' ; note LIKE note ; 'a' LIKE note
note LIKE 'a%' ESCAPE '%' ; note SIMILAR TO '(' ; note SIMILAR TO note ; note ~ '(' ; note ~ note ; note ~* '[' ; note GLOB '['
regexp_matches(note, '(') ; regexp_matches(note, note) ; regexp_replace(note, '(', '') ; regexp_extract(note, '(a)', 5)
regexp_replace(note, '(.*)*$', '') ; regexp_like(note, '*') ; regexp_full_match(note, '+') ; regexp_split_to_array(note, '(')
repeat(note, 1000000000) ; repeat(note, age) ; repeat('a', big) ; lpad(note, 1000000000, ' ') ; rpad(note, -1, '') ; lpad(note, 5, '')
chr(age - 50) ; chr(big) ; chr(1114112) ; ascii(note) ; unicode(note) ; ord(note) ; char(age) ; unhex(note) ; hex(note)
from_base64(note) ; to_base64(note) ; decode(note) ; encode(note, 'x') ; unbin(note) ; bin(age) ; md5(note) ; translate(note, 'a', '')
format('{}', note) ; format(note, age) ; printf('%d', note) ; printf(note) ; strip_accents(note) ; nfc_normalize(note)
split_part(note, '', 1) ; split_part(note, ',', 0) ; string_split(note, '') ; split(note, ',')[99] ; concat_ws(note, 'a', 'b')
instr(note, '') ; position('a' IN note) ; replace(note, '', 'x') ; overlay(note PLACING 'x' FROM 0) ; reverse(note) ; initcap(note)
levenshtein(note, 'a') ; hamming(note, 'a') ; jaccard(note, '') ; soundex(note) ; note || note || note ; note + 1 ; note || age
parse_path(note) ; parse_dirname(note) ; url_decode(note) ; starts_with(note, note) ; trim(note, note) ; upper(note) ; length(note)
json_extract(note, '$.a') ; note -> 'a' ; note ->> '$.a[' ; json(note) ; json_array_length(note) ; json_valid(note) ; note::json
json_extract_string(note, note) ; from_json(note, '["INT"]') ; json_keys(note) ; parse_json(note) ; get_json_object(note, '$.a')
list_extract([1, 2], age) ; [1, 2][big] ; list_value(age)[2] ; map([note, note], [1, 2]) ; struct_pack(a := note).b ; unnest([age])
array_extract([age], 0) ; list_sum([big, big]) ; range(big) ; generate_series(1, big) ; {'a': age}['b'] ; element_at([1], age)
crc32(note) ; sha256(note) ; hash(note) ; xpath(note, '//a') ; collate(note, 'nope') ; note COLLATE nope ; note COLLATE NOCASE
""".replace("\n", ";")

MOMENTS = r"""
date_trunc('nope', day) ; date_trunc(note, day) ; date_trunc('century', day) ; extract(nope FROM day) ; date_part(note, day)
day + big ; day + age * 1000000 ; day - 99999999999 ; day + INTERVAL '9999999 years' ; moment + INTERVAL (big) SECOND ; day + 1000000
moment + to_years(age * 100000) ; moment - INTERVAL 400000 YEARS ; date_add(day, INTERVAL 300000 YEAR) ; date_sub('year', day, day)
make_date(age, age, age) ; make_date(big, 1, 1) ; make_timestamp(big) ; make_timestamp(age, 13, 1, 0, 0, 0) ; make_time(age, 99, 0)
strptime(note, '%Y') ; strptime(note, note) ; strftime(day, note) ; strftime(note, '%Y') ; to_date(note, 'YYYY') ; try_strptime(note, '%Q')
to_timestamp(big) ; epoch_ms(big) ; to_timestamp(note, 'YYYY') ; from_unixtime(big) ; to_days(big) ; age(day, day) ; date(note)
datediff('nope', day, day) ; date_diff('second', moment, note) ; last_day(day) ; dayname(day) ; monthname(day) ; julian(day)
moment AT TIME ZONE 'Nowhere/Land' ; moment AT TIME ZONE note ; timezone(note, moment) ; time_bucket(INTERVAL '0 days', day)
extract(epoch FROM moment) ; extract(hour FROM day) ; extract(year FROM note) ; extract(week FROM day) ; date_trunc('week', day)
DATE '2020-02-30' ; TIMESTAMP 'never' ; TIME '25:00' ; INTERVAL 'x' ; day = '2020-02-30' ; moment < 'yesterday' ; era(day)
current_setting(note) ; error(note) ; raise_error(note) ; assert_true(flag) ; nextval(note) ; setseed(age) ; uuid(note) ; typeof(note)
""".replace("\n", ";")

EXPRESSIONS = tuple(
    dict.fromkeys(part.strip() for part in f"{NUMBERS};{CASTS};{TEXTS};{MOMENTS}".split(";") if part.strip())
)

#: Where an expression can stand.
POSITIONS = {
    "aggregate": "SELECT sum({}) AS s FROM visits",
    "count": "SELECT sort, count({0}) FILTER (WHERE ({0}) IS NOT NULL) AS n FROM visits GROUP BY sort",
    "where": "SELECT count(*) AS n FROM visits WHERE ({}) IS NOT NULL",
    "key": "SELECT {0} AS k, count(*) AS n FROM visits GROUP BY {0}",
    "having": "SELECT sort, count(*) AS n FROM visits GROUP BY sort HAVING count({}) > 2 ORDER BY count({}) LIMIT 2",
}
