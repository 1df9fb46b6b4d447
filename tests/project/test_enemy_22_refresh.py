"""`refresh` says that nothing changed only where nothing did: also not where times were set back, or an erasure died."""

import os
import time

import pytest

import clinic
import discreet


def count(project):
    return project.sql("SELECT count(*) AS n FROM patients WHERE sex = 'M'").ask(epsilon=1).rows[0][0]


def test_a_source_of_the_same_size_and_time(tmp_path, capsys):
    """As `cp -p`, `rsync -a` and archives with one time for all leave it: the rows are others."""
    project = clinic.make(tmp_path, budget="{ epsilon = 1000 }")
    project.refresh("patients")
    time.sleep(2.1)
    source = tmp_path / "patients.csv"
    before = source.stat()
    source.write_bytes(source.read_bytes().replace(b",F,", b",M,"))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    code, data, _ = clinic.run(capsys, tmp_path, "refresh", "patients")
    assert (code, data["version"], data["made"]) == (0, 2, True)
    assert count(discreet.open(tmp_path)) > 900
    assert discreet.open(tmp_path).refresh("patients") == (2, None)


class Killed(BaseException):
    """The process dies here."""


def test_after_an_erasure_that_was_killed(tmp_path, monkeypatch):
    """The tombstone is there and the rows are, too; a new version leaves them out, and the old one would not."""
    columns = clinic.COLUMNS.partition("[tables.patients.columns.note]")[0]
    project = clinic.make(tmp_path, extra='person = "note"', columns=columns)
    project.refresh("patients")

    def die(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("discreet.kernel.erasure.erase_from_stream_counts", die)
        with pytest.raises(Killed):
            project.forget("patients", ["n"])
    number, making = project.refresh("patients")
    assert number == 2 and making.exact_rows == 0
