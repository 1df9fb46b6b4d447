"""What the ledger, its exports and its messages tell of an address."""

import json

import pytest
from psycopg.conninfo import conninfo_to_dict

import discreet
from clinic import say
from discreet.errors import UsageError
from discreet.ledger.ledger_location import DatabaseAddress, location_mark
from engines.postgres.server import execute, new_name, postgres_address

__all__ = ["postgres_address"]

#: libpq reads a password up to an @ before any slash; a URL's host ends at the first # or ?.
HIDDEN = (
    "postgresql://ann:12#tiger@db/books",
    "postgresql://ann:#tiger@db/books",
    "postgresql://ann:?tiger@db/books",
    "postgresql://an#n:tiger@db/books",
)


@pytest.mark.parametrize("url", HIDDEN)
def test_a_password_with_a_sign_in_it_is_no_address(url):
    assert "tiger" in conninfo_to_dict(url)["password"]
    with pytest.raises(UsageError, match="not the address") as caught:
        DatabaseAddress(url=url)
    told = f"{caught.value} {caught.value.hint}"
    assert "tiger" not in told and "ann" not in told


@pytest.mark.parametrize("url", ["postgresql://ann:12%23tiger@db/books", "postgresql://ann%3Atiger@db/books"])
def test_no_part_of_a_name_or_password_is_shown(url):
    address = DatabaseAddress(url=url)
    assert address.has_secret
    assert address.name == address.place == str(address) == "postgresql://db/books"
    assert location_mark(address) == b"postgresql://db/books" and "tiger" not in repr(address)


@pytest.mark.parametrize("key", ["scram_client_key", "scram_server_key", "oauth_client_secret", "sslpassword"])
def test_other_secrets_of_libpq_are_secrets(key):
    url = f"postgresql://db/books?{key}=tiger&sslmode=require"
    assert conninfo_to_dict(url)[key] == "tiger"
    assert DatabaseAddress(url=url).name == "postgresql://db/books?sslmode=require"
    assert DatabaseAddress(url=url).has_secret


def test_a_setting_that_is_not_known_is_refused():
    with pytest.raises(UsageError, match="a setting that is not allowed") as caught:
        DatabaseAddress(url="postgresql://db/books?tiger=1")
    assert "tiger" not in f"{caught.value} {caught.value.hint}" and "sslmode" in caught.value.hint


def test_a_plus_is_a_plus():
    """As libpq reads it: two schemas are two places."""
    assert DatabaseAddress(url="postgresql://db/books?options=-csearch_path%3Da+b").place.endswith("a%2Bb")


def test_a_password_in_a_move_is_refused(tmp_path, capsys):
    for told in ("ann:12%23tiger@db/books", "ann:12#tiger@db/books", "db/books?sslpassword=tiger"):
        folder = tmp_path / str(len(told))
        discreet.init(folder)
        code, out, err = say(capsys, folder, "ledger", "move", f"postgresql://{told}")
        assert code == 2 and "tiger" not in out + err + (folder / "discreet.toml").read_text()


def test_the_ledger_keeps_a_versions_name_alone(tmp_path, postgres_address, capsys):
    """Decision 17: the address stays in discreet.toml. The export of a ledger is handed to outsiders."""
    name = new_name("people")
    execute(postgres_address, f"CREATE TABLE public.{name} AS SELECT g % 90 AS age FROM generate_series(1, 100) AS g")
    project = discreet.init(tmp_path / "project")
    address = postgres_address + ("&" if "?" in postgres_address else "?") + "application_name=stripe918273645"
    project.add(f"public.{name}", epsilon=1, engine=address)
    discreet.open(project.folder).refresh(name)
    code, _, _ = say(capsys, project.folder, "ledger", "export", str(tmp_path / "out.jsonl"))
    assert code == 0
    told = (tmp_path / "out.jsonl").read_text()
    assert json.loads(told.splitlines()[0])
    assert "stripe918273645" not in told and "postgresql://" not in told
