"""What makes two fits the same one, what is refused before paying, and the order of columns."""

from __future__ import annotations

import pytest

import discreet
from discreet.errors import UsageError

TOML = """
[tables.people]
source = "people.csv"
budget = { epsilon = 30BUDGET }
[tables.people.columns.a]
type = "category"
values = ["x", "y"]
closed = true
[tables.people.columns.b]
type = "category"
values = ["u", "v"]
closed = true
[tables.model]
source = "model.csv"
public = true
columns = { a = { type = "category", values = ["x", "y"] }, b = { type = "category", values = ["u", "v"] } }
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n" + "x,u\ny,v\n" * 300)
    (tmp_path / "model.csv").write_text("a,b\n" + "x,u\ny,v\n" * 20)
    (tmp_path / "discreet.toml").write_text(TOML.replace("BUDGET", ""))
    return discreet.init(tmp_path)


def test_the_order_of_the_file_is_for_showing_alone(project):
    model = project.synthesize("people", epsilon=1, model="mst")
    assert [column.name for column in model.columns] == ["a", "b"]
    path = project.folder / "discreet.toml"
    text = path.read_text()
    one, two = (text.index(f"[tables.people.columns.{name}]") for name in "ab")
    end = text.index("[tables.model]")
    path.write_text(text[:one] + text[two:end] + text[one:two] + text[end:])
    again = discreet.open(project.folder).synthesize("people", epsilon=1, model="mst")
    assert again.card.release == model.card.release and again.card.repeat
    assert [column.name for column in again.columns] == ["b", "a"]


def test_columns_in_other_words_are_the_same_fit(project):
    first = project.synthesize("people", epsilon=1, model="mst", columns=["a", "b"])
    assert project.synthesize("people", epsilon=1, model="mst", columns=["B", "a"]).card.release == first.card.release
    assert project.synthesize("people", epsilon=1, model="mst", columns=["a"]).card.release != first.card.release


def test_a_card_states_what_was_reserved_also_after_a_grant(project):
    first = project.synthesize("people", epsilon=1, model="mst")
    assert first.card.rho is None  # pure
    project.grant("people", epsilon=30, delta="1e-6")
    later = project.synthesize("people", epsilon=1, model="mst")
    event = project.ledger.reservation(later.card.release).event
    assert later.card.rho == (None if event.epsilon is not None else event.rho)
    assert later.card.release == first.card.release and later.card.repeat  # the same fit, whichever noise is open now


@pytest.mark.parametrize(
    "more",
    [
        {"epsilon": "1e-12"},
        {
            "epsilon": 1,
            "constraints": {"zeros": [{"a": "x"}, {"a": "y"}]},
        },
    ],
)
def test_what_cannot_be_is_refused_before_paying(project, more):
    with pytest.raises(UsageError):
        project.synthesize("people", model="mst", **more)
    assert project.budget("people").spent.epsilon == 0


def test_an_absurd_epsilon_on_one_column_works(project):
    assert abs(project.synthesize("people", epsilon=29, model="independent", columns=["a"]).total - 600) < 5


def test_selection_on_a_public_table_costs_nothing(project):
    model = project.synthesize("people", epsilon=3, model="mst", public="model")
    assert "selecting" not in model.card.shares
    with pytest.raises(UsageError, match="not public"):
        project.synthesize("people", epsilon=3, model="mst", public="people")
