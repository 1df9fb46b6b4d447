"""Declaring a table in the console: the questions, how the declaration reads, what is written, and its first version."""

import tomllib

import pytest

import discreet
from console.forms_of_tables import declare, digest_of, fields_of, upload, words
from console.hostile import ENDS, RUNS, tame
from console.house import world
from discreet.console.table_answers import MOST_COLUMNS, MOST_FIELDS, bound, words_of
from discreet.errors import UsageError

pytestmark = pytest.mark.usefixtures("patient")
VISITS = "patient id,Kosten,sex,day\n" + "".join(
    f"p{n % 50},{n % 30},{'FM'[n % 2]},2026-01-{1 + n % 28:02}\n" for n in range(200)
)
AT = "/admin/tables/new?source=sources%2Fstays.csv"


@pytest.fixture
def clinic(tmp_path):
    made = world(tmp_path / "clinic")
    yield made
    made.house.close()


@pytest.fixture
def owner(clinic):
    found = clinic.browser("owner")
    assert upload(found, "stays.csv", VISITS.encode()).status_code == 200
    return found


def declared(clinic, name="stays"):
    return tomllib.loads((clinic.folder / "discreet.toml").read_text())["tables"][name]


ANSWERS = {
    "rows_per_person": "4", "epsilon": "3", "delta": "1e-6", "c1_low": "0", "c1_high": "20", "c2_type": "category",
    "c2_values": "F\nM", "c3_low": "2026-01-01", "c3_high": "2026-12-31",
}  # fmt: skip


def test_from_upload_to_report(clinic, owner):
    led = declare(owner, AT, **ANSWERS)
    assert led.headers["location"] == "/admin/table/stays#report"
    found = declared(clinic)
    assert (found["person"], found["rows_per_person"], found["source"]) == ("patient id", 4, "sources/stays.csv")
    assert found["columns"]["Kosten"] == {"type": "integer", "low": 0, "high": 20}
    assert found["columns"]["sex"] == {"type": "category", "values": ["F", "M"]}
    assert set(found["columns"]) == {"Kosten", "sex", "day"}
    numbers = owner.get("/admin/table/stays.json").json()["report"]["numbers"]
    assert (numbers["rows"], numbers["persons"], numbers["clamped"]["Kosten"]) == (200, 50, 54)
    assert owner.get("/admin/tables.json").json()["unused"] == []


def test_it_writes_what_the_command_line_would(clinic, owner, tmp_path):
    """The same file, letter by letter, as `Project.draft`, `replace` and `add_draft`."""
    other = world(tmp_path / "other" / "clinic")
    upload(other.browser("owner"), "stays.csv", VISITS.encode())
    project = discreet.open(other.folder)
    draft = project.draft(other.folder / "sources" / "stays.csv", person="patient id", rows_per_person=4, epsilon="3")
    project.add_draft(draft.replace(columns={"Kosten": {"type": "integer", "low": 0, "high": 20}, "sex": None}))
    declare(owner, AT, rows_per_person="4", epsilon="3", c1_low="0", c1_high="20", c2_use="")
    assert (clinic.folder / "discreet.toml").read_text() == (other.folder / "discreet.toml").read_text()
    other.house.close()


def test_nothing_is_written_that_was_not_shown(clinic, owner):
    before = (clinic.folder / "discreet.toml").read_text()
    form = fields_of(owner.get(AT).text) | {"epsilon": "3", "act": "preview"}
    looked = owner.post("/admin/tables/new", form)
    assert "People are" not in words(looked) and "people are identified by patient id" in words(looked)
    again = owner.post("/admin/tables/new", form | {"epsilon": "30", "act": "write", "shown": digest_of(looked)})
    assert "has changed since this preview" in words(again) and 'value="30"' in again.text
    for missing in ("", "0" * 64):
        assert owner.post("/admin/tables/new", form | {"act": "write", "shown": missing}).status_code == 200
    assert (clinic.folder / "discreet.toml").read_text() == before


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"whose": ""}, "Say whose row it is"),
        ({"whose": "column:nobody"}, "there is no column 'nobody'"),
        ({"c1_low": "ten"}, "Kosten: low 'ten' is not a whole number"),
        ({"c1_low": "0.5"}, "choose the type decimal"),
        ({"c1_low": "9", "c1_high": "1"}, "low"),
        ({"c2_type": "category", "c2_values": ""}, "sex: a category needs its words"),
        ({"c2_type": "nonsense"}, "sex: choose a type"),
        ({"c3_low": "01.02.2026"}, "day: low '01.02.2026' is not a date"),
        ({"rows_per_person": "0"}, "rows per person must be a whole number"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"name": "visits"}, "already declared"),
        ({"c1_more": "nonsense"}, "further settings of Kosten"),
        ({"c1_more": "colour = 3"}, "unknown key 'colour'"),
        ({"c1_more": "low = 3"}, "has a field of its own"),
        ({"delimiter": "ab"}, "delimiter must be one character"),
        ({"skip_rows": "x"}, "rows above the header must be a whole number"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_the_answers_stay(clinic, owner, answers, sentence):
    before = (clinic.folder / "discreet.toml").read_text()
    form = fields_of(owner.get(AT).text) | ANSWERS | answers | {"act": "preview"}
    told = owner.post("/admin/tables/new", form)
    assert told.status_code == 400 and sentence.lower() in words(told).lower(), words(told)[:900]
    assert 'role="alert"' in told.text and (clinic.folder / "discreet.toml").read_text() == before
    if not {"delimiter", "skip_rows", "c2_values"} & set(answers):
        assert fields_of(told.text)["c2_values"] == "F\nM"


def test_the_same_bounds_for_several_columns(clinic, owner):
    several = {"several_low": "0", "several_high": "99", "several_values": "F, M"}
    declare(owner, AT, epsilon="1", c1_several="yes", c2_several="yes", c2_type="category", **several)
    columns = declared(clinic)["columns"]
    assert columns["Kosten"] == {"type": "integer", "low": 0, "high": 99} and columns["sex"]["values"] == ["F", "M"]


def test_a_code_book_fills_the_form(clinic, owner):
    form = fields_of(owner.get(AT).text) | {
        "epsilon": "1",
        "codebook": "column,type,low,high,values\nKosten,integer,0,99,\nsex,category,,,F|M\n",
    }
    filled = owner.post("/admin/tables/new", form | {"act": "fill"})
    found = fields_of(filled.text)
    assert (found["c1_low"], found["c1_high"], found["c2_type"]) == ("0", "99", "category"), words(filled)[:600]
    assert found["c2_values"].split() == ["F", "M"]
    wrong = owner.post("/admin/tables/new", form | {"act": "fill", "codebook": "column,colour\nKosten,red\n"})
    assert wrong.status_code == 400 and 'role="alert"' in wrong.text


def test_labels_and_further_settings(clinic, owner):
    declare(
        owner,
        AT,
        epsilon="1",
        c2_type="category",
        c2_values="F = Frau\nM = Mann",
        c1_more="bins = 5",
        c1_low="0",
        c1_high="20",
    )
    columns = declared(clinic)["columns"]
    assert columns["sex"]["labels"] == {"F": "Frau", "M": "Mann"} and columns["Kosten"]["bins"] == 5


def test_a_public_table_and_one_whose_rows_are_persons(clinic, owner):
    assert declare(owner, AT, whose="public").headers["location"] == "/admin/table/stays"
    assert declared(clinic)["public"] is True
    upload(owner, "other.csv", VISITS.replace("p1", "q1").encode())
    declare(owner, "/admin/tables/new?source=sources/other.csv", whose="row", epsilon="1")
    assert "person" not in declared(clinic, "other")


def test_a_population_is_shared(clinic, owner):
    declare(owner, AT, population="people")
    assert declared(clinic)["population"] == "people" and "budget" not in declared(clinic)


def test_a_name_that_is_taken_gets_a_number(clinic, owner):
    upload(owner, "visits.csv", VISITS.replace("p1", "q1").encode())
    form = fields_of(owner.get("/admin/tables/new?source=sources/visits.csv").text)
    assert form["name"] == "visits_2"


def test_a_file_of_the_project_is_read_where_it_is(clinic, owner):
    (clinic.folder / "parts").mkdir()
    for part in "ab":
        (clinic.folder / "parts" / f"{part}.csv").write_text(f"user_id,x\n{part},1\n")
    declare(owner, "/admin/tables/new?source=parts/*.csv", epsilon="1", name="parts")
    assert declared(clinic, "parts")["source"] == "parts/*.csv"


@pytest.mark.parametrize(
    ("engine", "source", "sentence"),
    [
        ("postgresql://ann:secret@host/x", "t", "contains a password"),
        ("mysql://host/x", "t", "is not a known address"),
        ("postgresql://127.0.0.1:1/x", "t", ""),
    ],
)
def test_an_engine_that_cannot_be_had_is_told(owner, engine, source, sentence):
    told = owner.get("/admin/tables/new", params={"engine": engine, "source": source})
    assert told.status_code in (400, 409) and sentence in words(told) and 'role="alert"' in told.text


HOSTILE = {
    "names with marks and quotes": f'id,"{RUNS.replace(chr(34), chr(34) * 2)}","{ENDS}","a\'b ""c"""\n1,2,3,4\n',
    "formulas": "id,=cmd|' /C calc'!A0,+1+1,@SUM(A1)\n1,2,3,4\n",
    "not text": "\x00\x01\x02" * 400,
    "one very long line": "x" * 300_000,
    "the same name twice": "id,a,A\n1,2,3\n",
    "no rows": "id,age\n",
    "a row of data on top": "17,2026-01-01\n18,2026-01-02\n",
    "an archive": "PK\x03\x04" + "\x00" * 3000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_a_form_or_a_sentence(clinic, owner, kind):
    """Never an error that nobody expected, and nothing of it runs in a page."""
    to = upload(owner, "evil.csv", HOSTILE[kind].encode("latin-1")).json()["to"]
    told = owner.get(to)
    assert told.status_code in (200, 400, 422), words(told)[:500]
    assert tame(told.text) and ("Declare" in told.text or 'role="alert"' in told.text)
    if told.status_code == 200:
        form = fields_of(told.text) | {"whose": "column:id", "epsilon": "1"}
        looked = owner.post("/admin/tables/new", form | {"act": "preview"})
        assert tame(looked.text) and looked.status_code in (200, 400)
        if looked.status_code == 200:
            owner.post("/admin/tables/new", form | {"act": "write", "shown": digest_of(looked)})
            for path in ("/admin/tables", "/admin/table/evil", "/admin/tables/edit?table=evil", "/d/evil"):
                page = owner.get(path)
                assert page.status_code == 200 and tame(page.text), path


def test_ten_thousand_columns_are_a_sentence(owner):
    names = ",".join(f"c{n}" for n in range(10_000))
    to = upload(owner, "wide.csv", f"{names}\n{',' * 9_999}\n".encode()).json()["to"]
    told = owner.get(to)
    assert told.status_code == 400 and "column" in words(told) and 'role="alert"' in told.text


def test_many_columns_are_a_form(owner):
    """More fields than other forms may have, where every column is asked about."""
    assert MOST_FIELDS > 10 * MOST_COLUMNS
    form = fields_of(owner.get(AT).text) | {"whose": "row", "epsilon": "1", "act": "preview"}
    more = {f"c{number}_low": "" for number in range(4, MOST_COLUMNS * 5)}
    assert owner.post("/admin/tables/new", form | more).status_code == 200
    too_many = {f"c{number}_low": "" for number in range(MOST_FIELDS)}
    assert owner.post("/admin/tables/new", form | too_many).status_code == 400


def test_correcting_a_declaration(clinic, owner):
    at = "/admin/tables/edit"
    form = fields_of(owner.get(f"{at}?table=visits").text)
    assert (form["c1_high"], form["c2_low"], form["whose"]) == ("40", "2026-01-01", "column:id")
    before = (clinic.folder / "discreet.toml").read_text()
    same = owner.post(at, form | {"act": "preview"})
    assert "Nothing changes." in words(same)
    looked = owner.post(at, form | {"c1_high": "60", "act": "preview"})
    assert "removed: high = 40" in words(looked) and "added: high = 60" in words(looked)
    assert (clinic.folder / "discreet.toml").read_text() == before
    led = owner.post(at, form | {"c1_high": "60", "act": "write", "shown": digest_of(looked)})
    assert led.headers["location"] == "/admin/table/visits#report"
    assert (clinic.folder / "discreet.toml").read_text() == before.replace("high = 40", "high = 60")
    assert owner.get("/admin/table/visits.json").json()["report"]["numbers"]["clamped"]["cost"] == 0
    wrong = owner.post(at, form | {"c1_high": "much", "act": "preview"})
    assert wrong.status_code == 400 and fields_of(wrong.text)["c1_high"] == "much"
    assert owner.get(f"{at}?table=none").status_code == 404


def test_correcting_columns_in_and_out(clinic, owner):
    form = fields_of(owner.get("/admin/tables/edit?table=patients").text)
    changed = form | {"c1_use": "", "c2_values": "flu\ngout", "act": "preview"}
    looked = owner.post("/admin/tables/edit", changed)
    owner.post("/admin/tables/edit", changed | {"act": "write", "shown": digest_of(looked)})
    columns = declared(clinic, "patients")["columns"]
    assert "age" not in columns and columns["disease"]["values"] == ["flu", "gout"]
    assert columns["sex"]["closed"] is True


def test_bounds_are_read_as_they_are_written():
    assert bound("x", "low", "integer", "\u22125") == -5
    assert str(bound("x", "low", "decimal", "0.1")) == "1/10" and bound("x", "low", "decimal", "2") == 2
    assert bound("x", "low", "timestamp", "2026-01-31 12:30").hour == 12
    with pytest.raises(UsageError, match="is not a number"):
        bound("x", "high", "decimal", "1,5")
    assert words_of("a\n\n b \na") == (["a", "b"], {})
