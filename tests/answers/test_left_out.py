"""What the limit on rows leaves out stands under answers once it was bought: as an interval, and from stored numbers."""

import re
from collections import Counter

import pytest

from answers.shop import make
from discreet.answers.bounds.share_text import share_text

COUNT = "select count(*) n from orders"


def note(release):
    (line,) = [
        line for line in release.warnings if line.startswith("numbers and intervals describe the declared table")
    ]
    return line


def rows_by_person(folder):
    lines = (folder / "orders.csv").read_text().splitlines()[1:]
    return Counter(line.split(",")[0] for line in lines).values()


def test_the_share_is_said_once_it_was_bought(tmp_path):
    shop = make(tmp_path, rows_per_person=2, customers=300)
    before = note(shop.sql(COUNT).ask(epsilon=1))
    assert "at most 2 rows per person; discreet bounds orders --report" in before
    shop.bias("orders", ["rows_per_person"], epsilon=100)
    after = note(shop.sql(COUNT).ask(epsilon=1))  # stored, and read with what is known now
    told = re.search(r"at most 2 rows per person \(leaves out (\S+)% to (\S+)% of the rows", after)
    rows = rows_by_person(tmp_path)
    exact = 100 * sum(max(0, each - 2) for each in rows) / sum(rows)
    assert told and float(told[1]) <= exact <= float(told[2]) and float(told[2]) - float(told[1]) < 5
    assert "bounds orders --report" not in after
    assert shop.sql(COUNT).ask(epsilon=1).cached


def test_a_limit_beyond_all_that_are_seen_says_how_many_persons_may_have_more(tmp_path):
    shop = make(tmp_path, rows_per_person=20, customers=60)
    shop.bias("orders", ["rows_per_person"], epsilon=100)
    assert re.search(
        r"20 rows per person \((nobody|at most \d+ persons) had more rows\)", note(shop.sql(COUNT).ask(epsilon=1))
    )


@pytest.mark.noisy
def test_noise_that_hides_all_says_nothing(tmp_path):
    shop = make(tmp_path, rows_per_person=2, customers=3)
    shop.bias("orders", ["rows_per_person"], epsilon="0.01")
    assert "leaves out" not in note(shop.sql(COUNT).ask(epsilon=1)).split(";")[0]


@pytest.mark.parametrize(
    ("share", "text"),
    [((0.614, 0.7134), "61% to 72%"), ((0.0, 0.0017), "0.0% to 0.2%"), ((0.5, 0.5), "50%"), ((0.0, 1.0), "0% to 100%")],
)
def test_a_share_is_rounded_outwards_with_few_digits(share, text):
    assert share_text(share) == text
