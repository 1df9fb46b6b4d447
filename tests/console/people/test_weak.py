"""Passwords that everybody tries first are refused where one is chosen; the others are not."""

import pytest

from discreet.console.people.weak_passwords import common_words, weakness
from discreet.errors import UsageError

WEAK = [
    "password123", "P@ssw0rd123!", "Password2026!", "qwertyuiop12", "1q2w3e4r5t", "aaaaaaaaaa1", "1234567890",
    "31.12.1999 a", "iloveyou2024", "Summer2026!!", "adminadmin", "letmein letmein", "asdfghjkl;1", "abcd1234efgh",
    "correcthorsebatterystaple", "ｐａｓｓｗｏｒｄ１２３",
]  # fmt: skip
STRONG = [
    "correct horse battery", "zebra marmot violin", "x7Kq9-Lm2v_T", "my first password", "Fahrrad im Regen",
    "\u5bc6\u7801\u592a\u7b80\u5355\u4e86\u5417\u6211\u4e0d\u77e5\u9053", "4 tram stops to Altona",
]  # fmt: skip


@pytest.mark.parametrize("password", WEAK)
def test_weak(password):
    assert weakness(password)


@pytest.mark.parametrize("password", STRONG)
def test_not_weak(password):
    assert weakness(password, ["Ada Lovelace"]) == ""


def test_ones_own_name_is_no_password():
    assert "own name" in weakness("Lovelace-1815-Ada", ["Ada Lovelace"])
    assert weakness("Lovelace-1815-Ada", ["Ben"]) == ""
    assert weakness("Lovelace grew violets", ["Ada Lovelace"]) == ""


def test_the_list_is_words_in_small_letters():
    assert len(common_words()) > 400 and all(word == word.casefold() for word in common_words())


def test_it_is_refused_wherever_one_is_chosen(people, ada):
    for choose in (
        lambda: people.add("Eve", role="analyst", password="Password2026!"),
        lambda: people.add("Eve Adams", role="analyst", password="EveAdams-1990"),
        lambda: people.set_password("Ada", "qwertyuiop12"),
    ):
        with pytest.raises(UsageError, match="easy to guess"):
            choose()
    assert people.log_in("Ada", "correct horse battery", address="192.0.2.1") is not None


def test_the_first_owner_too(people):
    link = people.setup.link()
    with pytest.raises(UsageError, match="easy to guess"):
        people.first_owner(link, name="Ada", password="Password2026!")
    assert people.setup.holds(link)
