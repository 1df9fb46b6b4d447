"""The count of names: it sees a new one, keeps a smaller number, and lets none rise."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def names(tmp_path, monkeypatch):
    """The check, on a package of its own."""
    spec = importlib.util.spec_from_file_location("names_check", ROOT / "checks" / "names.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = tmp_path / "src"
    for place in ("a/words.py", "b/words.py", "c/words.py"):
        (source / place).parent.mkdir(parents=True)
        (source / place).write_text("class Report:\n    pass\n\n\nclass _Own:\n    pass\n")
    (source / "a" / "told.py").write_text(
        "def f(found, *, given):\n    for known in found:\n        wanted = known\n    return wanted\n"
    )
    monkeypatch.setattr(module, "SOURCE", source)
    monkeypatch.setattr(module, "KEPT", tmp_path / "names.json")
    return module


COUNTED = {"module names used more than twice": 3, "class names used twice": 3, "vague names": 4}


def keep(names, **changed):
    names.KEPT.write_text(json.dumps({**COUNTED, **changed}))


def test_what_is_counted(names):
    keep(names)
    assert names.main([]) == 0


@pytest.mark.parametrize("what", COUNTED)
def test_a_number_never_rises_and_a_smaller_one_is_kept(names, what, capsys):
    keep(names, **{what: COUNTED[what] - 1})
    assert names.main(["--write"]) == 1
    assert what in capsys.readouterr().out
    keep(names, **{what: COUNTED[what] + 1})
    assert names.main([]) == 1
    names.definitions.cache_clear()
    assert names.main(["--write"]) == 0
    assert json.loads(names.KEPT.read_text()) == COUNTED
