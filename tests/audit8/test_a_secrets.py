"""What the ledger, its exports and its messages tell of an address."""

import json

import pytest
from psycopg.conninfo import conninfo_to_dict

import discreet
from clinic import say
from discreet.errors import SchemaError
from discreet.ledger.where import Address
from discreet.schema.address import check_address
from engines.postgres.server import execute, new_name, postgres_address

__all__ = ["postgres_address"]

#: libpq reads a password up to the first @; urlsplit ends the host at the first # or ?.
HIDDEN = (
    "postgresql://ann:12#tiger@db/books",
    "postgresql://ann:#tiger@db/books",
    "postgresql://ann:?tiger@db/books",
    "postgresql://an#n:tiger@db/books",
)


@pytest.mark.parametrize("url", HIDDEN)
def test_a_password_with_a_sign_in_it_is_seen(url):
    assert "tiger" in conninfo_to_dict(url)["password"]
    with pytest.raises(SchemaError):
        check_address(url, where="[tables.visits]")
    assert Address(url=url).tells_password


@pytest.mark.parametrize("url", HIDDEN)
def test_no_part_of_a_name_or_password_is_shown(url):
    assert "ann" not in Address(url=url).name and ":12" not in Address(url=url).place


@pytest.mark.parametrize("key", ["scram_client_key", "scram_server_key", "oauth_client_secret", "sslpassword"])
def test_other_secrets_of_libpq_are_secrets(key):
    url = f"postgresql://db/books?{key}=tiger"
    assert conninfo_to_dict(url)[key] == "tiger"
    assert "tiger" not in Address(url=url).name
    assert Address(url=url).tells_password
    with pytest.raises(SchemaError):
        check_address(url, where="[tables.visits]")


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
