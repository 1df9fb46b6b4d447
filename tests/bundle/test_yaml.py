"""Cards in YAML: what is written is read back equal by PyYAML and by ourselves, whatever the texts are."""

import math

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.bundle import card_yaml
from tiers import examples

HOSTILE = [
    "no", "~", "null", "1e3", "2026-03-01", "- a", "a: b", "# c", "!!python/object/apply:os.system ['id']", "&a *a",
    "line\nbreak: x", "\t", "\r\n", "\x00\x07\x85\u2028\u2029\ufeff", "'\"\\", "{{x}}", "%YAML 1.1", "---", "...",
    "é ß 中 \U0001f600 \u200f\u202e", "<script>", "0x10", "1_000", "12:30:45", " padded ", "",
]  # fmt: skip

#: What YAML 1.1 takes for true, false or nothing.
NO_WORDS = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]

KEYS = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda key: key not in NO_WORDS)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
DATA = st.recursive(
    st.dictionaries(KEYS, st.one_of(SCALARS, st.lists(SCALARS, max_size=4)), max_size=5),
    lambda inner: st.dictionaries(KEYS, st.one_of(inner, SCALARS), max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(40))
@given(DATA)
def test_pyyaml_reads_what_we_write(data):
    text = card_yaml.write(data)
    assert (pyyaml.safe_load(text) or {}) == data
    assert card_yaml.read(text) == data


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_a_text(text):
    written = card_yaml.write({"a": text, "b": [text]})
    assert pyyaml.safe_load(written) == {"a": text, "b": [text]}
    assert written.count("\n") == 3


def test_only_what_we_write_is_read():
    for text in ("a: b\n", "a: 'b'\n", 'a: "b"', 'a:  "b"\n', 'a: "b" # c\n', "a: 1e5\n", 'a: "1"\na: "2"\n', "- 1\n"):
        with pytest.raises(ValueError, match=r".+"):
            card_yaml.read(text)


@pytest.mark.parametrize("key", NO_WORDS)
def test_a_key_is_a_word(key):
    """PyYAML would read `no: 1` as False: 1. Neither written nor read."""
    with pytest.raises(ValueError, match="a plain word"):
        card_yaml.write({"a": {key: 1}})
    with pytest.raises(ValueError, match="a plain word"):
        card_yaml.read(f"{key}: 1\n")


def test_what_has_no_form_is_refused():
    for value in (math.nan, math.inf, object(), {1: 2}, {"A b": 1}):
        with pytest.raises((ValueError, TypeError)):
            card_yaml.write({"a": value})
