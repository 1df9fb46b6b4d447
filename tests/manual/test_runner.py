"""The runner can fail: what a page gets wrong is caught, and what chance decides is not."""

import pytest

from manual.masking import differs, draws_nothing, masked
from manual.pages import PageError, read
from manual.runner import console_steps, into, run

ANSWER = """disease         n
allergy  3,399 ± 6
NULL        1 ± 6 ~

± 95% confidence interval of the added noise, per number. ~ below the noise: treat as unknown.
cost epsilon 0.5; epsilon 0.5 spent of 1.5, 1 remaining. Release r-dylaivm2vigm7wmf, version 1.
note: 1 of 5 numbers are below the noise; use a larger epsilon or wider groups to see more
"""
ASKED = 'discreet query "SELECT disease, count(*) AS n FROM patients GROUP BY disease" --epsilon 0.5'


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Runs a page of this text."""

    def of(text):
        path = tmp_path / "page.md"
        path.write_text(text)
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        run(read(path), folder)

    return of


def fenced(language, text):
    return f"```{language}\n{text}\n```\n"


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("3,399 ± 6", "-12 ± 6"),
        ("1 ± 6 ~", "14 ± 6"),
        ("r-dylaivm2vigm7wmf", "r-2222222222222222"),
        (" ~ below the noise: treat as unknown.", ""),
        ("note: 1 of 5 numbers are below the noise; use a larger epsilon or wider groups to see more\n", ""),
        ("disease         n", "disease n"),
    ],
)
def test_chance_does_not_matter(was, becomes):
    assert was in ANSWER
    assert differs(ANSWER, ANSWER.replace(was, becomes), command=ASKED) is None


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("disease   ", "illness   "),
        ("cost epsilon 0.5", "cost epsilon 0.6"),
        ("of 1.5,", "of 15,"),
        ("version 1.", "version 2."),
        ("3,399 ± 6", "3,399 ± 7"),
        ("95% confidence", "90% confidence"),
        ("allergy", "flu"),
        ("NULL        1 ± 6 ~\n", ""),
        ("Release r-dylaivm2vigm7wmf", "Release"),
        ("spent", "left"),
    ],
)
def test_words_columns_and_prices_do(was, becomes):
    assert was in ANSWER
    assert differs(ANSWER, ANSWER.replace(was, becomes), command=ASKED) is not None


def test_an_ellipsis_is_any_text_and_any_lines():
    assert differs("cost … spent\n…\nend", "cost 3 and 4 spent\none\ntwo\nend") is None
    assert differs("cost … spent\n…\nend", "cost 3 and 4 left\none\nend") is not None
    assert differs("first\n…", "second\n") is not None


def test_notes_may_be_left_out_but_not_invented():
    assert differs("answered", "note: discreet.toml has changed\nanswered") is None
    assert differs("note: all is well\nanswered", "answered") is not None


def test_digests_times_and_paths_are_masked():
    assert masked("head 3fa9c1d2e4b5a6f7 at 2026-11-16T05:56:02Z in /tmp/x/y") == masked(
        "head 00ff11ee22dd33cc at 2027-01-01T00:00:00Z in /srv/me/there"
    )
    assert masked("delta 1e-06, rho 0.3, about 0.3") == "delta 1e-06, rho 0.3, about #"


@pytest.mark.parametrize(
    ("shown", "seen"),
    [
        ("'patients' has 0.8 remaining of 1.5", "'patients' has 80 remaining of 1.5"),
        ("'patients' has 0.8 remaining of 1.5", "'patients' has 0.8 remaining of 150"),
        ("cost rho 0.5", "cost rho 50"),
        ("cost epsilon 1/2", "cost epsilon 1/9"),
        ("cost epsilon 0.5; epsilon 1.5 remains", "cost epsilon 0.5; epsilon 77 remains"),
        ("after it 0.5 is spent, 1.5 remains", "after it 0.5 is spent, 77 remains"),
        ("ledger OK: 9 entries verified", "ledger OK: 1 entries verified"),
        ("wrote 9 files to diseases", "wrote 2 files to diseases"),
        (
            "  about 13 more counts of everybody at plus or minus 50",
            "  about 9000 more counts of everybody at plus or minus 50",
        ),
        (
            "  about 13 more counts of everybody at plus or minus 50",
            "  about 13 more counts of everybody at plus or minus 1",
        ),
        (
            "made version 1 of 'v' from 6877 rows, of which 4872 are kept and 2005 left out",
            "made version 1 of 'v' from 6877 rows, of which 1 are kept and 2 left out",
        ),
    ],
)
def test_numbers_that_no_noise_decides_count_everywhere(shown, seen):
    assert differs(shown, shown, command="discreet budget") is None
    assert differs(shown, seen, command="discreet budget") is not None


@pytest.mark.parametrize(
    ("shown", "seen"),
    [
        ("error     n within 10 at 95%", "error     n within 99 at 95%"),
        ("because   count: a person's rows add 10", "because   count: a person's rows add 1"),
        ("costs epsilon 0.3; after it 0.3 is spent", "costs epsilon 0.3; after it 0.9 is spent"),
        ('{"l1": 10}', '{"l1": 1}'),
    ],
)
def test_where_nothing_is_drawn_every_number_counts(shown, seen):
    command = "discreet explain x --json" if shown.startswith("{") else "discreet explain x"
    assert differs(shown, shown, command=command, exact=True) is None
    assert differs(shown, seen, command=command, exact=True) is not None
    assert differs(shown, seen, command="discreet query x" + " --json" * shown.startswith("{")) is None


def test_commands_that_draw_nothing_are_known():
    assert all(map(draws_nothing, ["discreet explain x", "discreet ranges t a --epsilon 1 --plan", "python a.py"]))
    assert not any(map(draws_nothing, ["discreet query x", "discreet query 'explain'  # --plan", "cat explain"]))


def test_an_explanation_on_a_page_is_compared_to_its_numbers(page):
    asked = '$ discreet explain "SELECT count(*) AS n FROM patients" --epsilon 0.5\n…\nerror     n within {} at 95%\n…'
    before = "$ discreet init --epsilon 3\n$ discreet add patients.csv\n$ discreet refresh patients\n"
    page("<!-- world: clinic -->\n" + fenced("console", before + asked.format(6)))
    with pytest.raises(PageError, match="the page shows"):
        page(fenced("console", asked.format(60)))


def test_a_wrong_number_in_python_is_caught_unless_it_is_noise(page):
    four = fenced("pycon", ">>> 2 + 2\n5")
    with pytest.raises(PageError, match="the page shows"):
        page(four)
    page("<!-- noisy -->\n" + four)
    with pytest.raises(PageError):
        page("<!-- noisy -->\n" + fenced("pycon", ">>> 2 + 2\n'5'"))
    program = "<!-- file: a.py -->\n" + fenced("python", "print(4)")
    page(program + fenced("console", "$ python a.py\n4"))
    with pytest.raises(PageError, match="the page shows"):
        page(program + fenced("console", "$ python a.py\n5"))
    page(program + "<!-- noisy -->\n" + fenced("console", "$ python a.py\n5"))


def test_json_is_compared_as_data():
    command = "discreet version --json"
    assert differs('{\n "version": "0.1.0"\n}', '{"version": "0.1.0"}', command=command) is None
    assert differs('{"verzion": "0.1.0"}', '{"version": "0.1.0"}', command=command) is not None
    assert differs('{"cost": {"epsilon": 0.5}}', '{"cost": {"epsilon": 0.6}}', command=command) is not None
    assert differs('{"value": 17, "cached": true}', '{"value": 19, "cached": true}', command=command) is None
    assert differs('{"value": 17, "cached": true}', '{"value": 19, "cached": false}', command=command) is not None


def test_a_good_page_runs(page):
    page(
        "<!-- world: clinic -->\n"
        + fenced(
            "console", "$ discreet init --epsilon 3\ncreated discreet.toml and its ledger\nnext: discreet add FILE"
        )
        + "<!-- file: numbers.py -->\n"
        + fenced("python", "print(2 + 2)")
        + fenced("console", "$ python numbers.py\n4\n$ ls\n…\nnumbers.py\n…")
        + fenced("python", "four = 4")
        + fenced(
            "pycon", ">>> four == 4\nTrue\n>>> 1 / 0\nTraceback (most recent call last):\n    ...\nZeroDivisionError: …"
        )
        + "<!-- exit: 2 -->\n"
        + fenced("console", "$ discreet version\n$ discreet nothing")
        + "<!-- not run: it serves until Ctrl-C -->\n"
        + fenced("console", "$ discreet serve")
    )


@pytest.mark.parametrize(
    "text",
    [
        fenced("console", "$ discreet version\nnot what it prints"),
        fenced("console", "$ discreet nothing"),
        "<!-- exit: 3 -->\n" + fenced("console", "$ discreet version"),
        fenced("console", "$ rm -r folder"),
        fenced("console", "$ discreet version | cat"),
        fenced("console", "discreet version"),
        fenced("python", "raise ValueError"),
        fenced("python", "raise SystemExit"),
        fenced("pycon", ">>> 'four'\n'five'"),
        fenced("pycon", ">>> 1 / 0"),
        fenced("pycon", ">>> four = 4\n>>> four\n"),
        fenced("toml", "a = "),
        "<!-- let RELEASE = last release -->\n" + fenced("console", "$ discreet again RELEASE --epsilon 1"),
        "<!-- file: ../outside -->\n" + fenced("text", "words"),
    ],
)
def test_what_does_not_happen_is_caught(page, text):
    with pytest.raises(PageError):
        page(text)


@pytest.mark.parametrize(
    "text",
    [
        "<!-- not run: -->\n" + fenced("console", "$ discreet serve"),
        "<!-- not run -->\n" + fenced("console", "$ discreet serve"),
        fenced("text", "$ discreet version"),
        fenced("text", ">>> 2 + 2"),
        fenced("", "anything"),
        fenced("bash", "discreet version"),
        "words\n\n    discreet version\n",
        "words\n\n    $ discreet version\n",
        "<!-- exit: 3 -->\n\nwords\n",
        "<!-- exit: three -->\n" + fenced("console", "$ discreet version"),
        "<!-- notrun: it serves -->\n" + fenced("console", "$ discreet version"),
        "```console\n$ discreet version\n",
        "<!-- world: nowhere -->\n",
        "> ```console\n> $ discreet version\n> ```\n",
        "> $ discreet version\n",
        "words\n\n\t$ discreet version\n",
        "1. item\n\n    ```console\n    $ discreet version\n    ```\n",
        "!!! note\n\n\t~~~python\n\tx = 1\n\t~~~\n",
        "- ```console\n  $ discreet version\n  ```\n",
        "<pre>\n$ discreet version\n</pre>\n",
        "words <code>discreet version</code>\n",
        fenced("mermaid", "graph LR"),
        "<!-- noisy: it is -->\n" + fenced("pycon", ">>> 2\n2"),
        "<!-- noisy -->\n" + fenced("python", "x = 1"),
        "<!-- noisy -->\n\nwords\n",
    ],
)
def test_nothing_hides_from_the_runner(page, text):
    with pytest.raises(PageError):
        page(text)


def test_a_name_stands_for_what_was_printed_last(page):
    page(
        fenced("python", "print('Release r-aaaaaaaaaaaaaaaa')\nprint('Release r-bbbbbbbbbbbbbbbb')")
        + "<!-- let RELEASE = last release -->\n"
        + fenced("python", "assert 'RELEASE' == 'r-' + 'b' * 16\nprint('r-cccccccccccccccc')")
        + fenced("python", "assert 'RELEASE' == 'r-' + 'b' * 16")
    )


def test_a_survey_is_found_again_by_its_name(page):
    page(
        fenced(
            "console",
            '$ discreet init\n$ discreet survey new "Did you?" --choices yes,no --epsilon 1\ncreated survey abcdefghij: Did you?\n…',
        )
        + "<!-- let SURVEY = last survey -->\n"
        + fenced(
            "console", "$ discreet survey list\nid question protocol epsilon reports\nSURVEY Did you? response 1 0"
        )
    )


def test_sections_replace_those_of_their_name(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("[one]\na = 1\nb = 2\n\n[two]\nc = 3\n")
    into(path, "[one]\na = 9\n\n[three]\nd = 4\n")
    assert path.read_text() == "[one]\na = 9\n\n[two]\nc = 3\n\n[three]\nd = 4\n"
    with pytest.raises(PageError):
        into(path, "a = 1\n")


def test_long_commands_go_on_in_the_next_line():
    assert console_steps("$ discreet a \\\n    b\nshown\n") == [("discreet a b", "shown\n")]
