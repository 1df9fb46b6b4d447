"""Templates: every value is escaped and seen, what is missing is an error, and a terminal never loads Jinja."""

import re
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
from markupsafe import Markup

import discreet
from discreet.present import html

SOURCE = Path(discreet.__file__).parent
HOSTILE = "<script>alert(1)</script>\"'&amp;\u202e\x00\ud800\n{{ x }}"


def shown(template, **data):
    return html._pages().from_string(template).render(data)


def test_a_value_is_text_and_every_letter_is_seen():
    assert shown("{{ x }}", x=HOSTILE) == (
        "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;amp;\ufffd\ufffd\ufffd\ufffd{{ x }}"
    )
    assert shown("<p title='{{ x }}'>", x=HOSTILE).count("'") == 2
    assert shown("{{ x | join(', ') }}", x=[HOSTILE, HOSTILE]).count("<") == 0
    assert shown("{{ x }}", x=Markup("<b>")) == "<b>"


def test_lines_are_kept_where_a_template_says_so():
    assert shown("{{ x | lines }}", x="a\n\tb<\r\u2028") == "a\n\tb&lt;\ufffd\ufffd"


def test_what_is_missing_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        shown("{{ x }}")
    with pytest.raises(TypeError, match="use cell_text or dash"):
        shown("{{ x }}", x=None)
    assert shown("{{ x | cell_text }} {{ x | dash }} {{ y | cell_text }} {{ DASH }}", x=None, y=True) == "NULL – true –"


@pytest.mark.parametrize("path", sorted(html.TEMPLATES.rglob("*.*")), ids=lambda path: path.name)
def test_no_template_trusts_a_value_or_asks_the_network(path):
    text = path.read_text()
    assert not re.search(r"\|\s*safe|autoescape|https?:|//[a-z]|url\(|@import|<script|\son[a-z]+=", text)


def test_a_missing_value_has_one_text():
    """Outside of the one place nobody chooses what to print for None; contracts of files are not for people."""
    own = {"lab/attacks/intersection.py"}  # the label of a file
    paths = [path for kind in ("*.py", "*.html") for path in SOURCE.rglob(kind)]
    chosen = {
        str(path.relative_to(SOURCE))
        for path in paths
        if path.relative_to(SOURCE).parts[0] not in ("engines", "sql")  # there it is SQL
        and re.search(r"""["']NULL["'] (if|else)|else ["']NULL["']""", path.read_text())
    }
    assert chosen <= own


def test_a_terminal_never_loads_templates():
    code = "import sys, discreet.cli.main, discreet.release, discreet.project.project; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
