"""Networks of protected persons whose source lies in PostgreSQL: kept beside the ledger, as those of files are."""

import re
import traceback

import psycopg
import pytest

import discreet
from discreet.engines.postgres import postgres_network
from discreet.engines.table_file import persons_file
from discreet.errors import DiscreetError, UsageError
from discreet.project.version_notes import network_location_notes
from engines.network.networks import contents
from engines.postgres.people import MARK
from engines.postgres.server import execute, new_name
from graph.friends import NODES, edges, write

TOML = """
[populations.all]
budget = {{ epsilon = 9000, delta = 1e-6 }}
[tables.ties]
source = "{ties}"
engine = "{address}"
ends = ["from", "to"]
rows_per_person = 8
population = "all"
[tables.members]
source = "{members}"
engine = "{address}"
person = "id"
population = "all"
[tables.members.columns.colour]
type = "category"
values = ["red", "blue"]
"""


@pytest.fixture
def names(postgres_address):
    """Edges with one twice, one from a person to themselves and two of nobody; and the persons."""
    ties, members = new_name("ties"), new_name("members")
    rows = [*edges(), ("p1", "p0"), ("p4", "p4"), (None, "p3"), ("NA", "p3")]
    listed = ", ".join("(" + ", ".join("NULL" if each is None else f"'{each}'" for each in row) + ")" for row in rows)
    people = ", ".join(f"('{name}', '{colour}')" for name, colour in NODES)
    execute(
        postgres_address,
        f'CREATE TABLE {ties} ("from" text, "to" text, note text DEFAULT \'{MARK}\')',
        f'INSERT INTO {ties} ("from", "to") VALUES {listed}',
        f"CREATE TABLE {members} (id text, colour text)",
        f"INSERT INTO {members} VALUES {people}",
    )
    yield ties, members
    execute(postgres_address, f"DROP TABLE IF EXISTS {ties}, {members}")


@pytest.fixture
def project(tmp_path, names, postgres_address):
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "discreet.toml").write_text(TOML.format(ties=names[0], members=names[1], address=postgres_address))
    return discreet.init(folder)


def near_project(folder):
    """The same from files."""
    folder.mkdir()
    toml = re.sub("engine = .*\n", "", TOML.format(ties="ties.csv", members="members.csv", address=""))
    (folder / "discreet.toml").write_text(toml)
    write(folder / "ties.csv", "from,to", edges())
    write(folder / "members.csv", "id,colour", NODES)
    project = discreet.init(folder)
    project.refresh("ties")
    return project


def exact(project):
    """Statistics at an epsilon that leaves hardly any noise."""
    network = project.graph("ties", nodes="members", by="colour")
    numbers = network.stats(epsilon=1000, only="nodes,edges,degrees")
    mixing = network.stats(epsilon=1000, only="mixing").mixing
    rows = [[cell.value for cell in row] for row in mixing.edges]
    return numbers.nodes.value, numbers.edges.value, numbers.degrees.values, mixing.labels, rows


def kept(project, name="ties"):
    """The files of all versions."""
    return [project.curator.folder / made.file for made in project.ledger.refresh().versions[name].values()]


def ours(address):
    """The declared tables on the server."""
    return {row[0] for row in execute(address, "SELECT tablename FROM pg_tables WHERE schemaname = 'discreet'")}


def test_it_is_kept_here_and_answers_as_from_a_file(project, tmp_path, postgres_address):
    """Nothing is made on the server; the persons who are counted, and what they are, come from there."""
    before = ours(postgres_address)
    assert project.graph("ties").plan(epsilon=1)  # free, and before there is a version
    making = project.refresh("ties")[1]
    assert (making.exact_rows, making.exact_doubles, making.exact_loops, making.exact_without_person) == (90, 1, 1, 2)
    [file] = kept(project)
    assert file.is_file() and file.stat().st_mode & 0o077 == 0 == persons_file(file).stat().st_mode & 0o077
    assert ours(postgres_address) == before and MARK.encode() not in file.read_bytes()
    assert exact(project) == exact(near_project(tmp_path / "near"))
    spent = project.budget("ties").spent.epsilon
    assert exact(project)[:2] == (31, 90) and project.budget("ties").spent.epsilon == spent and project.verify()


def test_whoever_is_forgotten_comes_into_no_version(project, names, postgres_address):
    project.refresh("ties")
    assert project.forget("ties", ["p0"]).exact_versions == 1
    assert {len(contents(file)[1]) for file in kept(project)} == {29}
    assert project.refresh("ties", force=True)[1].exact_rows == 84  # six edges less
    made = project.refresh("members")[1]
    assert made.exact_persons == 30
    project.forget("members", ["p1"])  # in the network, too, where a person has the same name
    assert [len(contents(file)[1]) for file in kept(project)] == [28, 28]
    execute(postgres_address, f"INSERT INTO {names[0]} VALUES ('p0', 'p1'), ('p0', 'new'), ('p2', 'new')")
    assert project.refresh("ties")[1].exact_persons == 29
    files = kept(project)
    assert not project.retire("ties").missing and not any(file.exists() for file in files)


def test_a_changed_source_is_seen_and_an_unchanged_one_may_have_changed(project, names, postgres_address):
    """As of every table of a server: rows can change without a sign, so a refresh makes a version."""
    changes = project.versions.changes
    project.refresh("ties")
    assert changes.is_up_to_date("ties") is None and not changes.source_changed("ties")
    execute(postgres_address, f"ALTER TABLE {names[0]} DROP COLUMN note")
    assert project.refresh("ties")[0] == 2
    execute(postgres_address, f'ALTER TABLE {names[0]} RENAME COLUMN "to" TO too')
    with pytest.raises(DiscreetError, match="has no column 'to'"):
        project.refresh("ties")
    kept(project)[-1].unlink()
    assert changes.is_up_to_date("ties") is False
    with pytest.raises(DiscreetError, match="no longer on disk"):
        project.graph("ties").stats(epsilon=1)
    assert not project.budget("ties").spent.epsilon


def test_a_server_that_fails_leaves_nothing_and_says_nothing_of_rows(project, monkeypatch):
    """After the first rows have come."""
    stream = postgres_network.stream_rows

    def failing(session, sql):
        yield from stream(session, sql)
        raise psycopg.errors.InvalidTextRepresentation(f"invalid input: {MARK}")

    monkeypatch.setattr(postgres_network, "stream_rows", failing)
    with pytest.raises(UsageError, match="could not be read completely") as failed:
        project.refresh("ties")
    assert MARK not in "".join(traceback.format_exception(failed.value))
    assert not project.ledger.refresh().versions.get("ties")
    assert not [file for file in project.curator.folder.iterdir() if re.match(r"\.?ties|\.making", file.name)]
    monkeypatch.undo()
    assert project.refresh("ties")[1].exact_rows == 90


def test_a_role_that_may_only_read_is_enough(project, names, plain, postgres_address):
    role, _ = plain
    execute(postgres_address, f"GRANT SELECT ON {names[0]} TO {role}")
    address = postgres_address.replace("postgres:@", f"{role}:@", 1)
    file = project.folder / "discreet.toml"
    file.write_text(file.read_text().replace(postgres_address, address))
    assert discreet.open(project.folder).refresh("ties")[1].exact_persons == 30


def test_the_owner_is_told_where_it_will_be_kept(project):
    ties, members = (project.file.table(name) for name in ("ties", "members"))
    [note] = network_location_notes(ties)
    assert "keeps the network next to the ledger" in note and network_location_notes(members) == []


def test_a_network_moves_from_a_server_to_a_file_and_back(project, postgres_address):
    """Its versions stay where they are: someone who is forgotten then is erased from all of them."""
    project.refresh("ties")
    file, text = project.folder / "discreet.toml", (project.folder / "discreet.toml").read_text()
    write(project.folder / "ties.csv", "from,to", edges())
    file.write_text(re.sub(r'source = "ties_[^"]*"\nengine = "[^"]*"', 'source = "ties.csv"', text))
    moved = discreet.open(project.folder)
    assert moved.refresh("ties")[0] == 2
    assert moved.forget("ties", ["p0"]).exact_versions == 2
    file.write_text(text)
    assert discreet.open(project.folder).refresh("ties")[1].exact_persons == 29
