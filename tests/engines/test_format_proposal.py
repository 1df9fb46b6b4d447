"""How texts are written, as it is proposed from them: the same by DuckDB and in memory, and right where it can be."""

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.format_proposal import propose_format
from discreet.engines.memory import MemoryEngine
from engines.tables import _BLANK_MOMENTS, _BLANK_NUMBERS, _LOCAL_FLAGS, _LOCAL_MOMENTS, _LOCAL_NUMBERS
from tiers import size

#: Texts, and what is proposed for a column of them.
EXAMPLES = [
    (["1,5", "2,25", "-3"], {"type": "decimal", "decimal": ","}),
    (["1.234,5", "12"], {"type": "decimal", "decimal": ",", "thousands": "."}),
    (["1,234", "12"], {"type": "integer", "thousands": ","}),
    (["1,234", "12,5"], {"type": "decimal", "decimal": ","}),
    (["1,234.50", "3"], {"type": "decimal", "thousands": ","}),
    (["0,123", "0,5"], {"type": "decimal", "decimal": ","}),
    (["1 234,5", "12"], {"type": "decimal", "decimal": ",", "thousands": " "}),
    (["1'234", "12"], {"type": "integer", "thousands": "'"}),
    (["$5", "$1,234.50"], {"type": "decimal", "thousands": ",", "symbols": ["$"]}),
    (["5 €", "7,50 €"], {"type": "decimal", "decimal": ",", "symbols": ["€"]}),
    (["12%", "3.5 %"], {"type": "decimal", "symbols": ["%"]}),
    (["007", "0,5"], {"type": "text"}),
    (["A12", "A13"], {"type": "text"}),
    (["31.01.2020", "1.2.2020"], {"type": "date", "format": "%d.%m.%Y"}),
    (["31/01/2020", "01/02/2020"], {"type": "date", "format": "%d/%m/%Y"}),
    (["4/18/2020", "1/2/2020"], {"type": "date", "format": "m/d/yyyy"}),
    (["4/5/2020", "1/2/2020"], {"type": "date", "format": "m/d/yyyy"}),
    (["04/05/2020", "1/2/2020"], {"type": "date", "format": "%m/%d/%Y"}),
    (["4/18/47", "1/2/10"], {"type": "date", "format": "m/d/yy"}),
    (["2020/01/31"], {"type": "date", "format": "%Y/%m/%d"}),
    (["05-Jan-2020", "6-FEB-2020"], {"type": "date", "format": "%d-%b-%Y"}),
    (["31.01.2020 10:00", "1.2.2020 9:30"], {"type": "timestamp", "format": "dd.mm.yyyy h:mm"}),
    (["1/31/2020 10:00 PM"], {"type": "timestamp", "format": "m/d/yyyy hh:mm tt"}),
    (["30.02.2020"], {"type": "text"}),
    (["yes", "no"], {"type": "boolean", "true": ["yes"], "false": ["no"]}),
    (["Yes", "No", "YES"], {"type": "boolean", "true": ["Yes", "YES"], "false": ["No"]}),
    (["Y", "N"], {"type": "boolean", "true": ["Y"], "false": ["N"]}),
    (["T", "F"], {"type": "boolean", "true": ["T"], "false": ["F"]}),
    (["ja", "nein"], {"type": "boolean", "true": ["ja"], "false": ["nein"]}),
    (["yes", "yes"], {"type": "text"}),
    (["yes", "no", "maybe"], {"type": "text"}),
    (["1", "0"], {"type": "integer"}),
    (["true", "FALSE"], {"type": "boolean"}),
]

DUCKDB = DuckDBEngine(threads=1)


def write(folder, columns, delimiter=","):
    """A file of columns of texts, as long as the longest; the rest is missing."""
    size = max(map(len, columns))
    rows = zip(*([*column, *[""] * (size - len(column))] for column in columns), strict=True)
    with (folder / "s.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow([f"x{place}" for place in range(len(columns))] + ["row"])
        writer.writerows([*row, str(place)] for place, row in enumerate(rows))


@pytest.mark.parametrize("engine", [MemoryEngine(), DUCKDB], ids=["memory", "duckdb"])
def test_what_is_proposed(engine, tmp_path):
    write(tmp_path, [[*texts, "NA"] for texts, _ in EXAMPLES])
    proposed = engine.columns("s.csv", folder=tmp_path)
    for place, (texts, wanted) in enumerate(EXAMPLES):
        assert proposed[f"x{place}"] == wanted, texts


def test_between_semicolons_a_comma_is_a_decimal_comma(tmp_path):
    write(tmp_path, [["1,234", "5,678"]], delimiter=";")
    for engine in (MemoryEngine(), DUCKDB):
        assert engine.columns("s.csv", folder=tmp_path)["x0"] == {"type": "decimal", "decimal": ","}


def test_a_file_that_is_not_utf8_is_proposed_the_same(tmp_path):
    (tmp_path / "s.csv").write_bytes("preis;land\n1,5 £;Öst\n2,5 £;Ang\n".encode("latin-1"))
    assert MemoryEngine().columns("s.csv", folder=tmp_path) == DUCKDB.columns("s.csv", folder=tmp_path)


ODD = [*_LOCAL_NUMBERS, *_BLANK_NUMBERS, *_LOCAL_MOMENTS, *_BLANK_MOMENTS, *_LOCAL_FLAGS, "NA", ""]


@settings(max_examples=size(5, 40), deadline=None)
@given(texts=st.lists(st.lists(st.sampled_from([text for text in ODD if "\0" not in text]), min_size=1, max_size=3), min_size=8, max_size=8), late=st.booleans())  # fmt: skip
def test_two_engines_propose_the_same(tmp_path_factory, texts, late):
    """Also where the first rows say nothing, and every type is asked of the engine."""
    folder = tmp_path_factory.mktemp("proposed")
    write(folder, [[*[""] * 250, *column] for column in texts] if late else texts)
    assert DUCKDB.columns("s.csv", folder=folder) == MemoryEngine().columns("s.csv", folder=folder)


def test_a_proposal_reads_every_text_it_was_made_from():
    for texts, wanted in EXAMPLES:
        if len(wanted) > 1:
            assert propose_format(texts) == wanted


#: What most of a column says, one later value, and the type that is proposed for both.
LATE = [
    ("1", "1.5", "decimal"),
    ("1", "007", "text"),
    ("1", "x", "text"),
    ("1", "NA", "integer"),
    ("true", "1", "text"),
    ("2026-01-02", "2026-01-02 10:00:00", "timestamp"),
    ("2026-01-02", "soon", "text"),
    ("", "7", "integer"),
    ("NA", "2026-01-02", "date"),
    ("", "", "text"),
]


def test_a_later_value_that_fits_less_counts_too(tmp_path):
    """Types are tried by the first rows, and hold for all that are looked at."""
    write(tmp_path, [[most] * 700 + [late] for most, late, _ in LATE])
    proposed = DUCKDB.columns("s.csv", folder=tmp_path)
    assert [proposed[f"x{place}"]["type"] for place in range(len(LATE))] == [type_ for _, _, type_ in LATE]
    assert proposed == MemoryEngine().columns("s.csv", folder=tmp_path)


@pytest.mark.parametrize(
    ("columns", "rows"), [(300, 40), pytest.param(300, 20_000, marks=pytest.mark.deep)], ids=["short", "long"]
)
def test_many_columns_fit_into_memory_and_are_proposed_alike(tmp_path, columns, rows):
    """300 columns of 20,000 rows once needed more memory than the engine has."""
    kinds = [texts for texts, _ in EXAMPLES]
    write(tmp_path, [(kinds[k % len(kinds)] * rows)[:rows] for k in range(columns)])
    assert DUCKDB.columns("s.csv", folder=tmp_path) == MemoryEngine().columns("s.csv", folder=tmp_path)
