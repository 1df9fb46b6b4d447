"""Every TOML file that people write is read in one way: what is wrong with it is one sentence that names it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.bundle.about import About
from discreet.errors import ProjectError, SchemaError, UsageError
from discreet.lab.attacks.census import block_file
from discreet.schema import toml_file
from discreet.schema.project_file import read_file
from discreet.schema.toml_file import mapping, parse_toml, read_text, read_toml, refuse_unknown_keys
from discreet.synth.constraints_file import read_constraint_file
from discreet.tables.publish.plan_file import read_plan

#: Whoever reads TOML, with a key that is nearly one of theirs, and that one.
READERS: list[tuple[Callable[[Path], object], str, str]] = [
    (read_file, "tabels", "tables"),
    (read_plan, "atributes", "attributes"),
    (lambda path: read_constraint_file(path, []), "zeroes", "zeros"),
    (block_file.read, "peoples", "people"),
    (About.read, "descripton", "description"),
]
NAMES = ["discreet.toml", "plan.toml", "constraints", "block.toml", "about.toml"]
readers = pytest.mark.parametrize(("read", "wrong", "right"), READERS, ids=NAMES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "discreet.toml"


@readers
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"x = ", "discreet.toml is not valid TOML: "),
        (b"\xff\xfe", "discreet.toml is not valid TOML: it is not UTF-8 text"),
        (b"x = " + b"[" * 5000, "discreet.toml is not valid TOML: "),
        (b"x = nan", "discreet.toml: a number must be a plain finite number"),
        (b"x = 1e999999999", "discreet.toml: a number must be a plain finite number"),
    ],
)
def test_a_file_that_is_no_toml(
    path: Path, read: Callable[[Path], object], wrong: str, right: str, content: bytes, sentence: str
) -> None:
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read(path)
    assert caught.value.reason.startswith(sentence) and "\n" not in caught.value.reason
    assert isinstance(caught.value, ProjectError) == (read is read_file)


@readers
def test_a_file_that_cannot_be_opened(path: Path, read: Callable[[Path], object], wrong: str, right: str) -> None:
    with pytest.raises(UsageError, match=r"there is no (file '.*)?discreet\.toml"):
        read(path)
    path.mkdir()
    with pytest.raises(UsageError, match=r"discreet\.toml('? is a folder| cannot be read: Is a directory)"):
        read(path)


@readers
def test_a_file_that_is_too_large(
    path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object], wrong: str, right: str
) -> None:
    """The bound of a plan is its own, and smaller."""
    path.write_bytes(b"#" * 2**20 + b"\n")
    monkeypatch.setitem(read_toml.__kwdefaults__, "most_bytes", 2**20)
    with pytest.raises(UsageError, match=r"discreet\.toml is larger than 1,048,576 bytes"):
        read(path)


@readers
@pytest.mark.parametrize("lead", ["", "\ufeff", "# by hand\r\n", "# by hand\r"])
def test_a_key_that_nobody_reads(path: Path, read: Callable[[Path], object], wrong: str, right: str, lead: str) -> None:
    path.write_bytes(f"{lead}{wrong} = 1\n".encode())
    with pytest.raises(UsageError, match=f"has an unknown key '{wrong}'") as caught:
        read(path)
    assert caught.value.hint == f"did you mean '{right}'?"


def test_numbers_are_exact() -> None:
    text = "a = 0.1\nb = 1_000.5\nc = 7\nd = 0.12345678901234567890123"
    assert parse_toml(text, name="x") == {
        "a": Fraction(1, 10),
        "b": Fraction(2001, 2),
        "c": 7,
        "d": Fraction(12345678901234567890123, 10**23),
    }


def test_an_entry_that_is_no_table() -> None:
    assert mapping({"a": 1}, where="it") == {"a": 1} == refuse_unknown_keys({"a": 1}, {"a", "b"}, where="it")
    for check in (mapping, lambda entry, **more: refuse_unknown_keys(entry, {"a"}, **more)):
        with pytest.raises(SchemaError, match=r"^it must be a table of settings$"):
            check(5, where="it", error=SchemaError)


def test_text_beside_it(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfa,b\r\n")
    assert read_text(path) == "a,b\r\n"
    path.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        read_text(path)
    with pytest.raises(UsageError, match="is larger than 0 bytes"):
        read_text(path, most_bytes=0)


def test_nobody_else_parses_toml() -> None:
    """A reader of its own would have other sentences, and floats."""
    source = Path(toml_file.__file__).parents[1]
    assert [path.name for path in source.rglob("*.py") if "tomllib" in path.read_text()] == ["toml_file.py"]
