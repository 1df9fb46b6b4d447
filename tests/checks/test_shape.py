"""The count of signatures and circles: it sees a new one, keeps a smaller number, and lets none rise."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NINE = ", ".join(f"p{number}" for number in range(9))
FILES = {
    "__init__.py": "",
    "cli/verb.py": f"def verb({NINE}): pass\n",
    "project/project.py": f"class P:\n    def add(self, {NINE}): pass\n    def other(self, {NINE}): pass\n",
    "a.py": f"from typing import Any\ndef eight(self, {NINE[4:]}): pass\nasync def nine({NINE}): pass\n"
    "def open_(**more: Any): pass\ndef bare(**more): pass\ndef typed(**more: int): pass\n",
    "b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from discreet import c\n",
    "c.py": "def later():\n    from discreet.d import thing\n",
    "d.py": "import discreet.b\n",
    "e.py": "from discreet import a, b\n",
    "f.py": "import json\nfrom discreet import d\n\ndef later():\n    import json\n    import json.tool\n    import discreet.b\n"
    "    from discreet import a, e\n",
}
COUNTED = {
    "functions of more than 8 parameters": 2,
    "parameters of any name and type": 2,
    "files that import each other in a circle": 3,
    "rooms on the ground floor": 2,
    "imports inside functions of what is loaded anyway": 2,
}


@pytest.fixture
def shape(tmp_path, monkeypatch):
    """The check, on a package of its own."""
    spec = importlib.util.spec_from_file_location("shape_check", ROOT / "checks" / "shape.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for place, text in FILES.items():
        path = tmp_path / "discreet" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(module, "SOURCE", tmp_path / "discreet")
    monkeypatch.setattr(module, "KEPT", tmp_path / "shape.json")
    return module


def keep(shape, **changed):
    shape.KEPT.write_text(json.dumps({**COUNTED, **changed}))


def test_what_is_counted(shape, capsys):
    keep(shape)
    assert shape.main(["--list"]) == 0
    assert [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith(" ")] == [
        "a.py:3 nine (9)",
        "project/project.py:3 other (9)",
        "a.py:4 open_ (**more)",
        "a.py:5 bare (**more)",
        "discreet.b",
        "discreet.c",
        "discreet.d",
        "cli",
        "project",
        "f.py:5 import json",
        "f.py:7 import discreet.b",
    ]


@pytest.mark.parametrize("what", COUNTED)
def test_a_number_never_rises_and_a_smaller_one_is_kept(shape, what, capsys):
    keep(shape, **{what: COUNTED[what] - 1})
    assert shape.main(["--write"]) == 1
    assert what in capsys.readouterr().out
    keep(shape, **{what: COUNTED[what] + 1})
    assert shape.main([]) == 1
    assert shape.main(["--write"]) == 0
    assert json.loads(shape.KEPT.read_text()) == COUNTED


def test_two_circles_are_told_apart(shape):
    assert shape.circles({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}}) == [["c", "d"], ["a", "b"]]
