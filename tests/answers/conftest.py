"""One shop for a module that only asks it questions, and its source as DuckDB reads it."""

import duckdb
import pytest

from answers.shop import make


@pytest.fixture(scope="module")
def shop_state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def shop_of_module(tmp_path_factory, shop_state):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(shop_state))
        return make(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(monkeypatch, shop_state, shop_of_module):
    """The module's one project, with the state folder that it was made with: every test has another otherwise."""
    monkeypatch.setenv("DISCREET_STATE", str(shop_state))
    return shop_of_module


@pytest.fixture(scope="module")
def source(shop_of_module):
    with duckdb.connect(config={"threads": 1}) as connection:
        for name in ("orders", "payments", "lines", "cities", "people"):
            file = shop_of_module.folder / f"{name}.csv"
            connection.execute(f"create table {name} as from read_csv('{file}', nullstr = '')")
        yield connection
