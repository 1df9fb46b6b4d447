"""Addresses in discreet.toml: read as PostgreSQL's library and Spark read them, without a secret, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from discreet.errors import SchemaError
from discreet.schema.address import SECRETS, SETTINGS, USER, check_address, parse_address

#: libpq reads a password up to an @ before any slash; a URL's host ends at the first # or ?.
HIDDEN = (
    "postgresql://ann:12#tiger@db/books",
    "postgresql://ann:#tiger@db/books",
    "postgresql://ann:?tiger@db/books",
    "postgresql://an#n:tiger@db/books",
    "postgresql://ann:ti@ger@db/books",
)
GOOD = (
    "duckdb",
    "postgresql://ann@db:5432/clinic",
    "postgresql://ann:@/clinic?host=/run/postgresql",
    "postgresql:///clinic?host=/run",
    "postgresql://%2Frun%2Fpostgresql/clinic",
    "postgresql://ann%40realm@db/clinic",
    "postgresql://a:5432,b:5433/clinic?target_session_attrs=read-write",
    "postgresql://[::1]:5432/clinic",
    "postgresql://db/clinic?sslmode=verify-full&sslrootcert=system&sslcert=/c.pem&sslkey=/k.pem",
    "postgresql://db/clinic?options=-csearch_path%3Da%25b%20-crole%3Dreader&user=ann%40realm",
    "postgresql://db/clinic?service=books&application_name=night+run",
    "spark://local",
    "spark://a:7077,b:7077?declared=s3a://bucket/private",
    "spark://local?declared=abfss://private@clinic.dfs.core.windows.net/declared",
    "spark://local?declared=hdfs://name:8020/private/day=1",
    "spark://local?declared=/lake/private",
    "sc://lake",
    "sc://lake:15002/;use_ssl=true;user_id=ann?declared=s3a://bucket/private",
    "sc://lake;user_id=ann%40clinic.example",
)
SECRET = (
    "postgresql://ann:secret@h/db",
    "postgresql://ann%3Atiger@db/clinic",
    "postgresql://db/clinic?password=tiger",
    "postgresql://db/clinic?%70assword=tiger",
    "postgresql://db/clinic?sslmode=require&sslpassword=tiger",
    "sc://host;token=tiger",
    "sc://host/;token=tiger",
    "sc://host/;use_ssl=true;%74oken=tiger",
    "sc://host?token=tiger",
    "spark://local?password=tiger",
)
UNLISTED = (
    "postgresql://db/clinic?Password=tiger",
    "postgresql://db/clinic?sslkeylogfile=/tiger",
    "postgresql://db/clinic?tiger=1",
    "postgresql://db/clinic?declared=/tiger",
    "sc://host/;x-api-key=tiger",
    "sc://host/;authorization=tiger",
    "spark://local?fs.s3a.secret.key=tiger",
    "spark://local?use_tiger=1",
)
ODD = (
    *HIDDEN,
    "postgresql://",
    "postgresql://ann:12/tiger@db/x",
    "postgresql://ann:12/x?user=tiger@db",
    "postgresql://ann%3Atiger%40db/x",
    "postgresql://h:x/db",
    "postgresql://h:0/db",
    "postgresql://h:65536/db",
    "postgresql://h/d b",
    "postgresql://h/d\u00a0b",
    "postgresql://h/db\n",
    "postgresql://h/d%0Ab",
    "postgresql://h/d%00b",
    "postgresql://h/d%zzb",
    "postgresql://h/d%ffb",
    "postgresql://h/db?tiger",
    "postgresql://h/db?sslmode=require&",
    "postgresql://h/password=tiger",
    "postgresql://h/db?dbname=postgresql://ann:tiger%40h/db",
    "postgresql://h/db?dbname=password%3Dtiger",
    "postgresql://h/db?service=a;token%3Dtiger",
    "postgresql://h/db?user=ann%3Atiger",
    "postgresql://h/db?options=-cclinic.key%3Dtiger",
    "postgresql://h/db?options=-c%20clinic.key%3Dtiger",
    "postgresql://h/db?options=--clinic.key%3Dtiger",
    "postgresql://h/db?options=-cclinic%5C.key%3Dtiger",
    "spark://ann:tiger@host:7077",
    "spark://host:7077;token=tiger",
    "spark://local?declared=s3a://KEY:tiger@bucket/private",
    "spark://local?declared=s3a://KEY:12/tiger@bucket/private",
    "spark://local?declared=s3a%3A%2F%2FKEY%3Atiger%40bucket",
    "spark://local?declared=s3a://KEY%253Atiger@bucket",
    "spark://local?declared=wasbs://c@a/p?sig%3Dtiger",
    "sc://tiger@host",
    "sc://host/;use_ssl",
    "sc://host/;user_id=a:tiger",
    "sc://host/;user_id=a=tiger",
    "sc://host/tiger",
    "sc://host/;authorization=Bearer tiger",
    "mysql://h/db",
    "duckdb:",
    "",
    7,
    None,
)  # fmt: skip


@pytest.mark.parametrize("address", GOOD)
def test_what_may_stand_in_the_file(address):
    assert check_address(address, where="[tables.t]") == address


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        *((address, "contains a password") for address in SECRET),
        *((address, "a setting that is not allowed") for address in UNLISTED),
        *((address, "is not a known address") for address in ODD),
    ],
)
def test_what_may_not(address, sentence):
    with pytest.raises(SchemaError, match=sentence) as caught:
        check_address(address, where="[tables.t]")
    assert "tiger" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("key", ["scram_client_key", "scram_server_key", "oauth_client_secret", "sslpassword"])
def test_other_secrets_of_libpq_are_secrets(key):
    url = f"postgresql://db/books?{key}=tiger"
    assert conninfo_to_dict(url)[key] == "tiger"
    with pytest.raises(SchemaError, match="contains a password"):
        check_address(url, where="[tables.visits]")


def test_what_libpq_hides_is_a_secret_here():
    """A newer libpq may know more. It marks what programs should not show."""
    options = {option.keyword.decode(): option.dispchar for option in Conninfo.get_defaults()}
    hidden = {key for key, shown in options.items() if shown == b"*"}
    assert {"password", "sslpassword"} <= hidden <= SECRETS
    assert not hidden & SETTINGS and SETTINGS | {USER} <= set(options)


def test_the_hint_names_what_spark_reads():
    core = pytest.importorskip("pyspark.sql.connect.client.core", reason="needs pyspark and grpc")
    with pytest.raises(SchemaError) as caught:
        check_address("sc://host/;token=tiger", where="[tables.t]")
    [name] = [word for word in caught.value.hint.split() if word.startswith("SPARK_")]
    with open(core.__file__, encoding="utf-8") as stream:
        assert name in stream.read()


PIECES = st.sampled_from([
    "ann", ":", "tiger", "@", "db", "/", "?", "#", "&", "=", "%40", "%3A", "%2F", "%25", "+", ",", "[", "]", "password",
    "user", "host", "port", "5432", "dbname", "options", "-csearch_path%3Dx", ";", "%20", "sslmode", "require",
])  # fmt: skip


@given(st.lists(PIECES, max_size=14).map("".join))
def test_what_is_taken_is_what_libpq_reads(rest):
    url = f"postgresql://{rest}"
    try:
        parts = parse_address(url)
        wanted = conninfo_to_dict(url)
    except (ValueError, ProgrammingError):
        return  # refused here, or by libpq, which then reads no password in it
    told = dict(parts.settings)
    assert wanted.get("password", "") == told.get("password", parts.password)
    assert wanted.get("user", "") == told.get("user", parts.user)
    assert bool(wanted.get("password")) <= parts.tells_secret
    for key in SETTINGS & set(told) - {"host", "port", "dbname"}:
        assert wanted.get(key, "") == told[key]


def test_postgresql_is_one_engine_by_either_scheme():
    """A join of two tables is asked of one engine, told by its address."""
    assert check_address("postgres://db/clinic", where="x") == "postgresql://db/clinic"
