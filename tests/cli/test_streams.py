"""Answers that were paid for are shown whatever standard output takes: its letters, its room, its reader."""

import io
import json
import os
import subprocess
import sys

import pytest

import discreet
from clinic import make, run, say
from discreet.cli import standard_streams
from discreet.cli.main import READER_GONE, call
from discreet.ledger.filesystem import use_state_folder
from tiers import DEEP

WORDS = ["allergy", "Grippe é", "Вирус", "mumps ≤ 3"]
COLUMNS = f"""
[tables.patients.columns.age]
type = "integer"
low = 0
high = 99
[tables.patients.columns.disease]
type = "category"
values = {json.dumps(WORDS, ensure_ascii=False)}
"""
BY_DISEASE = "select disease, count(*) from patients group by disease"
ENCODINGS = ("ascii", "cp1252", "utf-8")
VERBS = {
    "explain": ("explain", BY_DISEASE, "--epsilon", "1"),
    "query": ("query", BY_DISEASE, "--epsilon", "1"),
    "histogram": ("histogram", "patients", "disease", "--epsilon", "1"),
    "ranges": ("ranges", "patients", "age", "--epsilon", "1", "--strategy", "identity"),
    "marginals": ("marginals", "patients", "disease", "--epsilon", "1", "--order", "1"),
    "stream": ("stream", "start", "patients", "s", "--horizon", "2", "--epsilon", "1"),
    "budget": ("budget", "patients"),
    "bounds": ("bounds", "patients", "age", "--report", "--epsilon", "1"),
    "fit": ("synth", "fit", "patients", "--epsilon", "1", "--model", "independent"),
    "show": ("ledger", "show"),
    "refused": ("query", "select Вирус from patients", "--epsilon", "1"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A project that all tests here ask, beside its state folder."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "clinic").mkdir()
    rows = [[age % 100, "F", WORDS[age % 4], "true", f"n{age}"] for age in range(200)]
    budget = "{ epsilon = 1000, delta = 1e-6 }"
    with use_state_folder(folder / "state"):
        make(folder / "clinic", budget=budget, rows=rows, columns=COLUMNS, extra='person = "note"')
    return folder


@pytest.fixture
def clinic(home, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(home / "state"))
    return home / "clinic"


def printed(monkeypatch, encoding, folder, *words):
    """What a verb prints to streams of an encoding, as bytes, with its exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n") for _ in range(2))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", out)
        patched.setattr(sys, "stderr", err)
        code = call([*words, "--project", str(folder)])
        out.flush()
    return code, out.buffer.getvalue()


@pytest.mark.thin(6)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_prints_in_every_encoding(monkeypatch, clinic, verb, encoding):
    code, out = printed(monkeypatch, encoding, clinic, *VERBS[verb])
    text = out.decode(encoding)
    assert code == (3 if verb == "refused" else 0)
    if verb in ("query", "histogram", "marginals"):
        expected = {
            "ascii": ("+/-", "Grippe \\xe9", "\\u0412", "mumps <= 3"),
            "cp1252": ("±", "Grippe é", "\\u0412", "mumps <= 3"),
            "utf-8": ("±", "Grippe é", "Вирус", "mumps ≤ 3"),
        }
        assert all(word in text for word in expected[encoding])


@pytest.mark.parametrize(("verb", "signs"), [("explain", ("±W", "+/-W")), ("release", ("r-…", "r-..."))])
def test_help_is_printed_in_every_encoding(monkeypatch, clinic, verb, signs):
    for encoding in ENCODINGS:
        code, out = printed(monkeypatch, encoding, clinic, verb, "--help")
        assert code == 0 and signs[encoding == "ascii"] in out.decode(encoding)


@pytest.mark.thin(2)
@pytest.mark.parametrize("verb", VERBS)
def test_json_loses_nothing_in_any_encoding(monkeypatch, clinic, verb):
    told = []
    for encoding in ENCODINGS:
        printed(monkeypatch, encoding, clinic, *VERBS[verb])  # paid for by now, and stored
        told.append(json.loads(printed(monkeypatch, encoding, clinic, *VERBS[verb], "--json")[1].decode(encoding)))
    assert told[0].keys() == told[1].keys() == told[2].keys()
    if verb in ("query", "histogram"):
        assert told[0] == told[1] == told[2]
        assert [row[0] for row in told[0]["rows"][:4]] == WORDS


@pytest.mark.thin(3)
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "latin-1", "utf-16"])
def test_names_that_a_terminal_has_no_letters_for(monkeypatch, clinic, encoding):
    """A column that the question itself calls so, in a table, in JSON and in a refusal."""
    asked = 'select disease, count(*) as "été日" from patients group by disease'
    code, out = printed(monkeypatch, encoding, clinic, "query", asked, "--epsilon", "1")
    shown = "été日" if encoding == "utf-16" else "\\xe9t\\xe9\\u65e5"
    assert code == 0 and shown in out.decode(encoding)
    code, out = printed(monkeypatch, encoding, clinic, "query", asked, "--epsilon", "1", "--json")
    assert code == 0 and "été日" in json.dumps(json.loads(out.decode(encoding)), ensure_ascii=False)
    assert printed(monkeypatch, encoding, clinic, "query", 'select "日" from patients', "--epsilon", "1")[0] == 3


def test_columns_stay_columns_where_letters_are_spelled_out(monkeypatch, clinic):
    lines = printed(monkeypatch, "ascii", clinic, *VERBS["query"])[1].decode("ascii").splitlines()
    assert len({line.index("+/-") for line in lines[1:5]}) == 1


def test_a_batch_of_letters_is_spelled_in_ascii():
    text = "".join(map(chr, range(0x80, 0x3000)))
    assert standard_streams.spell_in_ascii(text).isascii()
    assert standard_streams.spell_in_ascii("± … – ≤ × ▇ ─ \udcc3") == "+/- ... - <= x # - \\udcc3"


def process(folder, *words, **more):
    command = [sys.executable, "-c", "from discreet.cli import run; run()", *words, "--project", str(folder)]
    return subprocess.run(command, check=False, capture_output="stdout" not in more, timeout=120, **more)


PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
#: The streams of a process, as its environment has it: an encoding of Python's own, or a locale without letters.
TERMINALS = {
    "ascii": ({"PYTHONIOENCODING": "ascii"}, "ascii", b"+/-"),
    "cp1252": ({"PYTHONIOENCODING": "cp1252"}, "cp1252", b"\xb1"),
    "C": (PLAIN | {"PYTHONIOENCODING": ""}, "ascii", b"+/-"),
}


@pytest.mark.parametrize(
    "terminal", [pytest.param("ascii", marks=pytest.mark.deep), pytest.param("cp1252", marks=pytest.mark.deep), "C"]
)
def test_what_was_charged_reaches_a_redirected_file(clinic, tmp_path, terminal):
    """A real process, its output redirected: the first answer, which is charged, and the stored one."""
    environment, encoding, sign = TERMINALS[terminal]
    words = ("histogram", "patients", "disease", "--epsilon", "1", "--fresh")
    before = len(list(discreet.open(clinic).ledger.entries()))
    with (tmp_path / "out").open("wb") as file:
        done = process(clinic, *words, env=os.environ | environment, stdout=file, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(list(discreet.open(clinic).ledger.entries())) > before
    out = (tmp_path / "out").read_bytes()
    assert sign in out and b"#" in out and b"\\u0412" in out and b"mumps <= 3" in out
    assert "Release r-" in out.decode(encoding)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk_loses_nothing_that_was_paid_for(clinic):
    words = ("query", "select count(*) from patients where age < 31", "--epsilon", "1")
    with open("/dev/full", "wb") as full:
        done = process(clinic, *words, "--fresh", stdout=full, stderr=subprocess.PIPE)
    told = done.stderr.decode()
    assert done.returncode == 2
    assert "cannot write to standard output: No space left on device; this stays charged" in told
    assert "try: run the same command without --fresh" in told and "Traceback" not in told
    if DEEP:
        with open("/dev/full", "wb") as full:
            done = process(clinic, *words, stdout=subprocess.PIPE, stderr=full)
        assert done.returncode == 0 and b"stored answer: free" in done.stdout
    else:
        assert discreet.open(clinic).sql(words[1]).ask(epsilon=1).cached


@pytest.mark.deep
def test_a_reader_that_went_away_is_no_fault(clinic):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process(clinic, *VERBS["query"], stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (READER_GONE, b"")


def test_a_stream_that_is_closed_goes_nowhere(monkeypatch, clinic):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert call([*VERBS["query"], "--project", str(clinic)]) == 0
    sys.stdout.close(), sys.stderr.close()


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["again", "r-1"], "run discreet query with the same SQL"),
        (["bounds", "t"], "the bounds are in discreet.toml"),
        (["bounds", "t", "--report"], "run the same command, with another output: the stored answer is free"),
        (["ranges", "t", "--stream", "s", "--next"], "run the same command without --next"),
        (["stream", "next", "t", "s"], "run discreet stream show with the same table and stream"),
        (["stream", "show", "t", "s"], "run the same command again with another output"),
        (["ledger", "show"], "run the same command again with another output"),
    ],
)
def test_the_way_back_is_one_that_costs_nothing(words, way):
    from discreet.cli.interruption import retry_hint

    assert retry_hint(words).startswith(way)


FILES = {
    "query": (("query", BY_DISEASE, "--epsilon", "1", "--fresh", "--format", "csv"), "-o"),
    "csv": (("query", BY_DISEASE, "--epsilon", "1", "--fresh"), "--csv"),
    "parquet": (("query", BY_DISEASE, "--epsilon", "1", "--fresh"), "--parquet"),
    "histogram": (("histogram", "patients", "disease", "--epsilon", "1", "--fresh", "--format", "csv"), "-o"),
    "ranges": (("ranges", "patients", "age", "--epsilon", "1", "--strategy", "identity", "--fresh"), "--csv"),
    "stream": (("ranges", "patients", "--stream", "s", "--horizon", "2", "--epsilon", "1"), "--csv"),
    "marginals": (("marginals", "patients", "disease", "--epsilon", "1", "--fresh"), "-o"),
    "fit": (("synth", "fit", "patients", "--epsilon", "1", "--fresh"), "-o"),
    "inspect": (("synth", "inspect", "--epsilon", "1"), "-o"),
    "publish": (("publish", "plan.toml", "--epsilon", "1", "--fresh"), "-o"),
}


@pytest.mark.thin(14)
@pytest.mark.parametrize("verb", FILES)
@pytest.mark.parametrize("file", ["no/such/place", "x" * 300, "patients.csv/beneath"])
def test_a_file_that_cannot_be_written_is_told_before_the_charge(capsys, clinic, verb, file):
    before = len(list(discreet.open(clinic).ledger.entries()))
    words, flag = FILES[verb]
    code, data, _ = run(capsys, clinic, *words, flag, str(clinic / file))
    assert code == 2, data
    assert len(list(discreet.open(clinic).ledger.entries())) == before


def test_trying_a_file_changes_nothing(tmp_path):
    from discreet.cli.flags import refuse_unwritable_path

    there, new = tmp_path / "there", tmp_path / "new"
    there.write_bytes(b"kept")
    refuse_unwritable_path(there), refuse_unwritable_path(new)
    assert there.read_bytes() == b"kept" and not new.exists()


def test_a_file_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    """(Permissions do not stop the administrator, who may run this.)"""
    from discreet.cli import flags
    from discreet.errors import UsageError

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(flags.Path, "open", refused)
    with pytest.raises(UsageError, match="Permission denied"):
        flags.refuse_unwritable_path(tmp_path / "file")


@pytest.mark.parametrize("verb", ["query", "histogram", "ranges", "stream", "inspect"])
def test_a_disk_that_fills_up_after_the_charge_says_how_to_have_it_again(capsys, clinic, verb):
    if not os.path.exists("/dev/full"):
        pytest.skip("no device that is full")
    if verb == "inspect":
        assert run(capsys, clinic, *VERBS["fit"])[0] == 0
    words, flag = FILES[verb]
    code, _, err = say(capsys, clinic, *words, flag, "/dev/full")
    assert code == 2 and "stored, but could not be written" in err and "is free" in err


@pytest.mark.deep  # every verb is above, and the tour in test_bad_input
def test_the_tour_is_shown_in_every_encoding(monkeypatch, tmp_path):
    code, out = printed(monkeypatch, "ascii", tmp_path, "demo")
    assert code == 0 and b"+/-" in out and b"The tour ends here" in out
