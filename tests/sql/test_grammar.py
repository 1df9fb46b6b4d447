"""Broken SQL is refused, with a caret, whatever the parser makes of it; nothing that is read was dropped."""

import threading

import duckdb
import pytest
import sqlglot

from discreet.errors import Refused
from discreet.sql.duckdb_grammar import syntax_fault
from discreet.sql.expression_reader import ExpressionReader
from discreet.sql.query_text import parse_statement
from discreet.sql.text_limits import _PIECE, MOST_ARGUMENTS
from sql.patients import Names
from sql.samples import SAMPLES
from sql.test_read import ACCEPTED, reading
from tiers import size

BROKEN = {
    "select count(*) from patients where age between 3 5": 51,
    "select count(*) from patients group": 31,
    "select extract(year from born from patients": 31,
    "select count(*) from patients where age > 3 and": 45,
    "select count(*) from patients order": 31,
    "select count(*) from patients p p": 33,
    "select count(* from patients": 16,
    "select sum(age) filter (where smoker from patients": 38,
    "select count(*) from patients having": 31,
    "select 'é😀', count(*) from patients where age between 3 5": 57,
}


@pytest.mark.parametrize("text", BROKEN)
def test_what_the_parser_forgives_is_refused(text):
    with pytest.raises(Refused, match="syntax error") as caught:
        reading(text)
    assert (caught.value.line, caught.value.column) == (1, BROKEN[text])


def test_the_caret_finds_the_line():
    with pytest.raises(Refused) as caught:
        reading("select count(*)\nfrom patients\nwhere age between 3 5")
    assert (caught.value.line, caught.value.column) == (3, 21)


def mutations(text):
    """The text cut at every token, without each, and with each twice."""
    places = [piece.span() for piece in _PIECE.finditer(text) if piece.lastgroup != "skip"]
    for start, end in places:
        yield text[:start].rstrip()
        yield f"{text[:start]} {text[end:]}"
        yield f"{text[:end]} {text[start:end]}{text[end:]}"


def test_no_broken_statement_is_read():
    """Whatever is read has a syntax that DuckDB knows, and nothing but a refusal comes of the rest."""
    broken = read = 0
    with duckdb.connect(config={"threads": 1}) as other:
        wrapped = [f"select {text} from patients" for text in SAMPLES[:: size(48, 12)]]
        for text in dict.fromkeys(each for whole in [*ACCEPTED[:: size(6, 2)], *wrapped] for each in mutations(whole)):
            try:
                reading(text)
            except Refused as problem:
                assert problem.line >= 1 and problem.column >= 1
                continue
            read += 1
            try:
                other.extract_statements(text)
            except duckdb.Error:
                broken += 1
    assert read > size(10, 50) and not broken


def test_too_many_arguments_are_refused():
    """One more than DuckDB's function takes; those of aggregates, too."""
    with duckdb.connect(config={"threads": 1}) as other:
        rows = other.execute(
            "select function_name, max(len(parameters)) from duckdb_functions() "
            "where function_type <> 'table' group by 1"
        )
        takes = dict(rows.fetchall())
    known = {
        name: most for name, most in MOST_ARGUMENTS.items() if name in takes and name not in ("min", "max", "epoch")
    }
    assert len(known) > 50
    for name, most in known.items():
        assert most <= takes[name] or name in ("if", "count_if"), name
    for name, most in MOST_ARGUMENTS.items():
        arguments = ", ".join(["age"] * (most + 1))
        for text in (f"{name}({arguments})", f"count(*) + {name}({arguments})"):
            with pytest.raises(Refused):
                reading(f"select {text} from patients")
        with pytest.raises(Refused):
            reading(f"select sex, {name}() from patients group by sex")


@pytest.mark.parametrize(
    "text",
    [
        "select quantile(age, 0.5, 7) from patients",
        "select round(avg(age), 1, 2) from patients",
        "select floor(count(*), 2) from patients",
        "select floor() from patients",
        "select count(*) from patients where mod(age, 7, 3) = 1",
        "select ceil(count(*), count(*), 3) from patients",
        "select avg(x) from (select id, bool_or(age) as x from visits group by id)",
        "select percentile_cont(0.5, 3) within group (order by age) from patients",
    ],
)
def test_no_argument_is_dropped(text):
    with pytest.raises(Refused):
        reading(text)


@pytest.mark.parametrize("text", ["n between symmetric 3 and 1", "n is 1"])
def test_the_reader_refuses_by_itself_what_the_grammar_would(text):
    """Should a later grammar know these, they are still not passed over."""
    source, _ = parse_statement("select 1")
    tree = sqlglot.parse_one(f"select {text}", dialect="duckdb")
    with pytest.raises(Refused, match=r"SYMMETRIC is not supported|IS is supported only with"):
        ExpressionReader(source=source, scope=Names(source)).typed(tree.expressions[0])


BOMBS = {
    "AS end": "select count(*) from " + "(select 1 as end from " * 40 + "patients" + ") q" * 40,
    "dollars": "select $$'$$, " + "(" * 200 + "1" + ")" * 200 + ", $$'$$",
    "escapes": "select e'\\'', " + "(" * 200 + "1" + ")" * 200 + ", e'\\''",
    "comments": "select /* /* */ ' */ " + "(" * 200 + "1" + ")" * 200 + ", '1'",
    "returns": "select --'\r " + "(" * 200 + "1" + ")" * 200 + " --' \n from patients",
    "templates": "select {# ' #} " + "(" * 200 + "1" + ")" * 200 + ", '1'",
    "signs": "select " + "@" * 200 + "1",
    "sums": "select " + "1+" * 3000 + "1 from patients",
}


@pytest.mark.parametrize("name", BOMBS)
def test_nothing_hides_from_the_scan(name):
    with pytest.raises(Refused, match=r"nested deeper|quote or comment|too complex"):
        parse_statement(BOMBS[name])


def test_the_grammar_runs_nothing(tmp_path):
    target = tmp_path / "out.csv"
    assert syntax_fault(f"copy (select 1) to '{target}'") is None and not target.exists()
    assert syntax_fault("select * from read_csv('/nowhere/at/all')") is None


def test_threads_do_not_meet():
    wrong = []

    def ask(width):
        for _ in range(100):
            fault = syntax_fault("select" + " " * width + "count(*) from p where x between 3 5")
            if fault is None or fault.start != 40 + width:
                wrong.append(fault)

    threads = [threading.Thread(target=ask, args=(width,)) for width in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_child_reads_after_its_parent_did():
    """The parent's database lost its threads by the fork: the child must neither use it nor wait for it."""
    import multiprocessing

    assert syntax_fault("select 1") is None
    child = multiprocessing.get_context("fork").Process(target=_read_in_a_child)
    child.start()
    child.join(20)
    if child.is_alive():
        child.kill()
    assert child.exitcode == 0


def _read_in_a_child() -> None:
    assert syntax_fault("select 1") is None and syntax_fault("select from where") is not None


def test_a_keyword_where_a_table_is_named_can_be_quoted():
    with pytest.raises(Refused, match="syntax error at 'grant'") as caught:
        reading("select count(*) from grant")
    assert caught.value.hint == 'if grant is a table, write its name in double quotes: "grant"'
    with pytest.raises(Refused, match="syntax error") as caught:
        reading("select count(*) from patients where grant")
    assert caught.value.hint == 'if grant is a column, write its name in double quotes: "grant"'
    with pytest.raises(Refused, match="syntax error") as caught:
        reading("select count(*) from patients where age grant")
    assert not caught.value.hint
