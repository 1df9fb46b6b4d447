"""What the owner's verbs say: what was made, whose rows they are, which limit holds, what a stop leaves behind."""

import shlex

import pytest
import typer

import discreet
from clinic import make, run, say
from discreet.cli import interruption, main
from discreet.project.project import Project
from discreet.project.unit_notes import snake_case

COUNT = "select count(*) from patients"
VISITS = "visit,ward\n" + "".join(f"{place % 7 or ''},a\n" for place in range(70))


def test_init_says_what_it_made(tmp_path, capsys):
    code, out, _ = say(capsys, tmp_path / "new", "init")
    assert code == 0 and "created discreet.toml and its ledger" in out
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "discreet.toml").write_text("[project]\n")
    code, out, _ = say(capsys, tmp_path / "old", "init")
    assert code == 0 and "created the ledger" in out and "created discreet.toml" not in out and "discreet add" in out
    assert (tmp_path / "old" / "discreet.toml").read_text() == "[project]\n"
    (tmp_path / "third").mkdir()
    declared = '[tables.people]\nsource = "p.csv"\nbudget = { epsilon = 1 }\n'
    (tmp_path / "third" / "discreet.toml").write_text(declared)
    code, data, _ = run(capsys, tmp_path / "third", "init")
    assert code == 0 and data["made"] == ["ledger"]


def test_init_points_to_the_table_that_is_declared(tmp_path, capsys):
    declared = '[tables.people]\nsource = "p.csv"\nbudget = { epsilon = 1 }\n'
    (tmp_path / "discreet.toml").write_text(declared)
    assert "discreet refresh people" in say(capsys, tmp_path, "init")[1]


def test_init_does_not_pass_over_a_budget(tmp_path, capsys):
    """What is declared stays; a budget that would be forgotten is refused."""
    (tmp_path / "discreet.toml").write_text("[project]\n")
    code, data, _ = run(capsys, tmp_path, "init", "--epsilon", "1")
    assert code == 2 and "budgets are declared in it" in data["reason"]
    assert not (tmp_path / ".discreet").exists()
    assert run(capsys, tmp_path, "init")[0] == 0


def test_the_limit_of_rows_is_asked_for_only_where_it_was_not_said(tmp_path, capsys):
    make(tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(f"id,{name}\n1,a\n")
    words = ["add", str(tmp_path / "one.csv"), "--person", "id", "--epsilon", "1"]
    assert "until you set rows_per_person" in say(capsys, tmp_path, *words)[1]
    words = ["add", str(tmp_path / "two.csv"), "--person", "id", "--epsilon", "1", "--rows-per-person", "1"]
    code, out, _ = say(capsys, tmp_path, *words)
    assert code == 0 and "rows_per_person" not in out


def test_a_limit_of_rows_without_a_person_is_not_passed_over(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "visits.csv").write_text(VISITS)
    before = (tmp_path / "discreet.toml").read_text()
    words = ["add", str(tmp_path / "visits.csv"), "--epsilon", "1", "--rows-per-person", "3"]
    code, data, _ = run(capsys, tmp_path, *words)
    assert code == 2 and "needs a person" in data["reason"] and "--person" in data["hint"]
    assert (tmp_path / "discreet.toml").read_text() == before


def test_refresh_says_how_many_rows_were_read_kept_and_left_out(tmp_path, capsys):
    """70 rows: 10 without a person, and six persons of 10 each, of whom 4 are kept."""
    make(tmp_path)
    (tmp_path / "visits.csv").write_text(VISITS)
    words = ["add", str(tmp_path / "visits.csv"), "--epsilon", "1", "--person", "visit", "--rows-per-person", "4"]
    assert run(capsys, tmp_path, *words)[0] == 0
    code, out, _ = say(capsys, tmp_path, "refresh", "visits", "--force")
    assert code == 0 and "from 70 rows, of which 24 are kept and 46 left out" in out
    assert "10 rows without a person" in out and "36 rows beyond" in out
    _, data, _ = run(capsys, tmp_path, "refresh", "visits", "--force")
    assert (data["read"], data["rows"], data["without_person"], data["truncated"]) == (70, 24, 10, 36)
    code, out, _ = say(capsys, tmp_path, "refresh", "patients", "--force")
    assert "from 1,000 rows (" in out and "kept" not in out


def test_refresh_says_that_rows_count_under_each_person_they_reach(tmp_path, capsys):
    """Each of two rows reaches two persons: four rows of the declared table, of a file of two."""
    (tmp_path / "orders.csv").write_text("customer,order\na,1\nb,1\na,2\nb,2\n")
    (tmp_path / "lines.csv").write_text("order,weight\n1,5\n2,6\n")
    (tmp_path / "discreet.toml").write_text(
        "[populations.people]\nbudget = { epsilon = 1 }\n"
        '[tables.orders]\nsource = "orders.csv"\npopulation = "people"\nperson = "customer"\nrows_per_person = 9\n'
        '[tables.lines]\nsource = "lines.csv"\npopulation = "people"\nrows_per_person = 9\n'
        'person = { through = "orders", on = "order" }\n'
        '[tables.lines.columns.weight]\ntype = "integer"\nlow = 0\nhigh = 9\n'
    )
    discreet.init(tmp_path)
    told = say(capsys, tmp_path, "refresh", "lines")[1]
    assert "from 4 rows (" in told and "once for each person" in told
    assert "once for each person" not in say(capsys, tmp_path, "refresh", "orders")[1]


def added(capsys, folder, header, *words):
    (folder / "new.csv").write_text(f"{header}\n{','.join('a' for _ in header.split(','))}\n")
    code, data, _ = run(capsys, folder, "add", str(folder / "new.csv"), "--epsilon", "1", *words)
    assert code == 0
    return data["warnings"]


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("visit_id,patient_id,ward", "patient_id"),
        ("ward,UserID", "UserID"),
        ("ward,customer", "customer"),
        ("ward,Client Number", "Client Number"),
        ("ward,person", "person"),
        ("ward,e-mail", "e-mail"),
        ("ward,contact_email", "contact_email"),
    ],
)
def test_a_column_that_names_people_is_pointed_at(tmp_path, capsys, header, column):
    make(tmp_path)
    (told,) = added(capsys, tmp_path, header)
    assert (
        f"{column!r} looks like it identifies people" in told
        and f"add it again with --person {shlex.quote(column)}" in told
    )
    assert "this protects each row, not each person" in told and "\n" not in told


def test_an_identifier_of_who_knows_what_is_not_proposed_as_the_person(tmp_path, capsys):
    make(tmp_path)
    (told,) = added(capsys, tmp_path, "ward,visit_id")
    assert "'visit_id' looks like an identifier" in told and "add it again with --person COLUMN" in told


@pytest.mark.thin(1)
@pytest.mark.parametrize("header", ["ward,age,id,rapid,covid", "user_agent,number_of_visitors,customer_segment"])
def test_other_names_are_not(tmp_path, capsys, header):
    make(tmp_path)
    (told,) = added(capsys, tmp_path, header)
    assert "each row of 'new' counts as one person" in told and "looks like" not in told


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("patient_id,doctor_id,ward", "if 'doctor_id' identifies other people, those are not protected"),
        (
            "patient_id,DoctorID,nurse_uid",
            "if 'DoctorID', 'nurse_uid' identify other people, those are not protected",
        ),
        ("patient_id,ward,covid,email", None),
    ],
)
def test_whoever_is_not_the_person_is_not_protected(tmp_path, capsys, header, told):
    make(tmp_path)
    notes = added(capsys, tmp_path, header, "--person", "patient_id")
    wanted = f"'new' protects the people identified by 'patient_id', with all their rows, and nobody else: {told}"
    assert notes == ([] if told is None else [wanted])


def test_a_list_of_persons_is_refused_with_what_a_list_means(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "new.csv").write_text("patient_id,doctor_id\na,b\n")
    words = ("add", str(tmp_path / "new.csv"), "--epsilon", "1", "--person", "patient_id, doctor_id")
    code, data, _ = run(capsys, tmp_path, *words)
    assert code == 2 and data["reason"] == "--person takes one column, got 'patient_id, doctor_id'"
    assert "only one kind of person is protected" in data["hint"]
    assert 'person = ["patient_id", "doctor_id"]' in data["hint"]
    (tmp_path / "odd.csv").write_text('"a,b",ward\na,b\n')  # a column may be called so
    assert run(capsys, tmp_path, "add", str(tmp_path / "odd.csv"), "--epsilon", "1", "--person", "a,b")[0] == 0


def test_the_person_of_another_table_is_known_again(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "old.csv").write_text("Badge,ward\n1,a\n")
    assert (
        run(capsys, tmp_path, "add", str(tmp_path / "old.csv"), "--person", "Badge", "--epsilon", "1")[1]["warnings"]
        == []
    )
    (told,) = added(capsys, tmp_path, "user_id,badge")
    assert "'badge' is the person column of 'old'" in told and "--person badge" in told


def test_nothing_is_said_of_persons_where_one_is_named_or_everybody_may_know(tmp_path, capsys):
    make(tmp_path)
    assert added(capsys, tmp_path, "user_id,ward", "--person", "user_id") == []
    (tmp_path / "open.csv").write_text("user_id,ward\n1,a\n")
    assert run(capsys, tmp_path, "add", str(tmp_path / "open.csv"), "--public")[1]["warnings"] == []


def test_people_read_it_too(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "new.csv").write_text("user_id,ward\n1,a\n")
    code, out, _ = say(capsys, tmp_path, "add", str(tmp_path / "new.csv"), "--epsilon", "1")
    assert code == 0 and len([line for line in out.splitlines() if line.startswith("note: each row")]) == 1


@pytest.mark.parametrize(("name", "snake"), [("PatientID", "patient_id"), ("e-Mail", "e_mail"), (" USER ", "user")])
def test_names_in_any_spelling(name, snake):
    assert snake_case(name) == snake


def test_a_grant_asks_for_the_line_and_does_not_warn(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 5, delta = 1e-6 }")
    run(capsys, tmp_path, "refresh", "patients")
    code, out, err = say(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", "5", "--delta", "1e-3")
    assert code == 0 and not err
    assert "also write it to discreet.toml: budget = { epsilon = 5, delta = 0.001 }" in out
    _, out, err = say(capsys, tmp_path, "budget")
    assert "delta 0.001 (discreet.toml says 1e-06); correct the file" in err and "epsilon" not in err
    assert "budget grant" not in err and "also write it" not in out
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace("{ epsilon = 5, delta = 1e-6 }", "{ epsilon = 5, delta = 0.001 }"))
    assert not say(capsys, tmp_path, "budget")[2]


@pytest.mark.thin(1)
@pytest.mark.parametrize("extra", ["", 'person = "person_id"'])
def test_refresh_counts_the_cells_that_a_mark_made_missing(tmp_path, capsys, extra):
    """A category '-' that nobody listed would vanish without a word otherwise. For the owner, not for who asks."""
    (tmp_path / "stays.csv").write_text("person_id,city,age\n1,-,30\n2,NA,-\n3,Bern,40\n4,,41\n")
    discreet.init(tmp_path)
    columns = """
    [tables.stays.columns]
    city = { type = "category", values = ["Bern", "Genf"] }
    age = { type = "integer", low = 0, high = 99 }"""
    with (tmp_path / "discreet.toml").open("a") as file:
        file.write(f'\n[tables.stays]\nsource = "stays.csv"\nbudget = {{ epsilon = 3 }}\n{extra}{columns}')
    _, data, _ = run(capsys, tmp_path, "refresh", "stays")
    assert data["marked"] == {"city": 2, "age": 1} and data["nulled"] == {"city": 0, "age": 0}
    out = say(capsys, tmp_path, "refresh", "stays", "--force")[1]
    keep = "; a category keeps marks that are among its values"
    assert f"\n  city: 2 cells are read as missing, because of a mark such as NA, null or -{keep}\n" in out
    assert "\n  age: 1 cell is read as missing, because of a mark such as NA, null or -\n" in out
    asked = say(capsys, tmp_path, "query", "SELECT city, count(*) FROM stays GROUP BY city", "--epsilon", "1")
    assert "read as missing" not in " ".join(map(str, asked))


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"Z\x81rich\n", ["Find out its encoding", "iconv -f ENCODING"]),  # DOS
        ("Zürich\nGenève\n".encode(), []),
        (b"Bern\n", []),
        ("Zürich\nGenève\n".encode() + b"Gen\xe8ve\n", []),  # UTF-8 with a damaged cell, which counts as before
    ],
    ids=["DOS", "UTF-8", "ASCII", "damaged"],
)
def test_a_file_in_another_encoding_is_noted(tmp_path, capsys, content, parts):
    """By add, where it is declared, and by refresh; its cells would be lost without a word."""
    (tmp_path / "t s.csv").write_bytes(b"city\n" + content)
    discreet.init(tmp_path)
    for words in (("add", str(tmp_path / "t s.csv"), "--name", "places", "--epsilon", "1"), ("refresh", "places")):
        code, _, err = say(capsys, tmp_path, *words)
        told = " ".join(err.split())
        assert code == 0, err
        assert all(part in told for part in parts) and ("not UTF-8" in told) == bool(parts)


def test_another_encoding_is_detected_and_written(tmp_path, capsys):
    """By add; where the setting is taken away, refresh says which one is missing, and where it is wrong, that it is."""
    (tmp_path / "t s.csv").write_bytes(b"city\n" + "Zürich\n“Genève”\n€\n".encode("cp1252"))
    discreet.init(tmp_path)
    code, _, err = say(capsys, tmp_path, "add", str(tmp_path / "t s.csv"), "--name", "places", "--epsilon", "1")
    assert code == 0 and 'discreet.toml: encoding = "cp1252". Change it there if it is wrong' in " ".join(err.split())
    assert "not UTF-8" not in say(capsys, tmp_path, "refresh", "places")[2]
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text().replace('encoding = "cp1252"\n', ""))
    err = " ".join(say(capsys, tmp_path, "refresh", "places", "--force")[2].split())
    assert 'It looks like Windows-1252 or Latin-1: write encoding = "cp1252" in its section' in err
    (tmp_path / "t s.csv").write_text("city\nZürich\n", encoding="utf-8")
    file.write_text(file.read_text().replace('source = "t s.csv"\n', 'source = "t s.csv"\nencoding = "latin-1"\n'))
    err = " ".join(say(capsys, tmp_path, "refresh", "places", "--force")[2].split())
    assert 't s.csv is UTF-8 text, but encoding = "latin-1" is declared' in err


def test_refresh_speaks_of_older_answers_where_there_are_some(tmp_path, capsys):
    make(tmp_path)
    told = "older answers stay"
    assert told not in say(capsys, tmp_path, "refresh", "patients")[1]
    assert (
        told not in say(capsys, tmp_path, "refresh", "patients", "--force")[1]
    )  # version 2, and nobody has asked anything
    assert run(capsys, tmp_path, "query", "SELECT count(*) FROM patients", "--epsilon", "0.1")[0] == 0
    assert told in say(capsys, tmp_path, "refresh", "patients", "--force")[1]


def test_a_grant_says_no_more_than_is_new(tmp_path, capsys):
    """The file was written first: nothing lags. What is declared otherwise is told as ever."""
    make(tmp_path)
    run(capsys, tmp_path, "refresh", "patients")
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace("{ epsilon = 1.0 }", "{ epsilon = 3 }").replace("high = 99", "high = 98"))
    _, out, err = say(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", "3")
    assert "also write it" not in out and "has changed since version 1" in err and "correct the file" not in err
    _, out, err = say(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", "4")
    assert "discreet.toml: budget = { epsilon = 4, delta = 0 }" in out and "has changed since version 1" in err


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("held", "told", "parts"),
    [
        ("{ epsilon = 1.0 }", "{ epsilon = 1.00000000001 }", ["epsilon 1 (discreet.toml says 1.00000000001)"]),
        (
            "{ epsilon = 1, delta = 1e-6 }",
            "{ epsilon = 2, delta = 1e-5 }",
            ["epsilon 1 (discreet.toml says 2)", "delta 1e-06 (discreet.toml says 1e-05)"],
        ),
        (
            "{ epsilon = 1, delta = 1e-6 }",
            "{ epsilon = 1, delta = 1e-6, delta_keys = 1e-7 }",
            ["delta_keys 5e-07 (discreet.toml says 1e-07)"],
        ),
        ("{ epsilon = 1, delta = 1e-6 }", '{ epsilon = 1, delta = 1e-6 }\naccounting = "zcdp"', ["accounting renyi"]),
    ],
)
def test_what_differs_is_named_with_both_values(tmp_path, capsys, held, told, parts):
    make(tmp_path, budget=held)
    run(capsys, tmp_path, "refresh", "patients")
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace(f"budget = {held}", f"budget = {told}"))
    err = say(capsys, tmp_path, "budget")[2]
    assert all(part in err for part in parts) and err.count("(discreet.toml says") == len(parts)
    assert "or run discreet refresh patients to apply it: nothing was released yet" in err
    assert run(capsys, tmp_path, "query", "SELECT count(*) FROM patients", "--epsilon", "0.1")[0] == 0
    err = say(capsys, tmp_path, "budget")[2]
    assert "`discreet budget grant` more" in err  # the file says more, or otherwise
    assert "discreet refresh" not in err


def test_a_lagging_file_of_declared_keys_gets_them_too(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 1, delta = 1e-6, delta_keys = 4e-7 }")
    run(capsys, tmp_path, "refresh", "patients")
    _, out, _ = say(capsys, tmp_path, "budget", "grant", "patients", "--epsilon", "1", "--delta", "1e-3")
    assert "budget = { epsilon = 1, delta = 0.001, delta_keys = 0.0004 }" in out


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    ("words", "act", "charged"),
    [
        (["refresh", "patients"], "refresh", False),
        (["budget"], "budget", False),
        (["ledger", "verify"], "verify", False),
        (["ledger", "adopt", "--state", "."], "adopt", True),
        (["bounds", "patients", "note", "--epsilon", "1"], "bounds", True),
        (["again", "r-1", "--epsilon", "1"], "again", True),
    ],
)
@pytest.mark.parametrize("how", [KeyboardInterrupt, ZeroDivisionError])
def test_a_stop_speaks_of_charges_only_where_there_are_some(tmp_path, capsys, monkeypatch, words, act, charged, how):
    make(tmp_path)

    def stopped(*_, **__):
        raise how

    monkeypatch.setattr(Project, act, stopped)
    code, _, err = say(capsys, tmp_path, *words)
    assert code == (130 if how is KeyboardInterrupt else 1)
    assert ("charged" in err) == charged and ("stopped" in err or "internal error" in err)
    assert ("nothing was charged" in err) == (charged and words[0] != "ledger")  # which may have charged a gap


def test_every_verb_that_is_free_exists():
    groups = typer.main.get_command(main.app).commands
    verbs = {f"{name} {inner}" for name, one in groups.items() for inner in getattr(one, "commands", {})} | set(groups)
    assert verbs >= interruption.FREE
    assert not interruption.FREE & {"query", "again", "bounds", "ledger", "synth", "synth fit", "synth inspect", "demo"}


def test_a_project_inside_another_is_pointed_at(tmp_path, capsys):
    """Two projects about the same people are two budgets."""
    make(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    code, _, err = say(capsys, inner, "init")
    assert code == 0 and f"there is also a project in {tmp_path}" in err
    assert "also a project" not in say(capsys, tmp_path, "budget")[2]
