"""The tables of the console's store. Times are whole seconds of UTC since 1970."""

from __future__ import annotations

#: The version of the tables below. Another one needs a step of `UPGRADES`, never a silent change.
VERSION = 3
#: The oldest that can be upgraded.
OLDEST = 1

_DIGEST = "BLOB NOT NULL CHECK (length({0}) = 32)"

_FIRST = (
    """CREATE TABLE people (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        folded TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL CHECK (role IN ('analyst', 'owner')),
        analyst TEXT NOT NULL,
        password TEXT NOT NULL,
        disabled INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
        created INTEGER NOT NULL
    ) STRICT""",
    f"""CREATE TABLE sessions (
        digest {_DIGEST.format("digest")} PRIMARY KEY,
        person INTEGER NOT NULL REFERENCES people (number),
        created INTEGER NOT NULL,
        seen INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX sessions_person ON sessions (person)",
    f"""CREATE TABLE tokens (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        digest {_DIGEST.format("digest")} UNIQUE,
        person INTEGER NOT NULL REFERENCES people (number),
        label TEXT NOT NULL,
        role TEXT NOT NULL CHECK (role IN ('analyst', 'owner')),
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        revoked INTEGER,
        used TEXT,
        parent INTEGER REFERENCES tokens (number)
    ) STRICT""",
    "CREATE INDEX tokens_person ON tokens (person)",
    f"""CREATE TABLE setup (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        digest {_DIGEST.format("digest")}
    ) STRICT""",
    """CREATE TABLE requests (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        person TEXT NOT NULL,
        analyst TEXT NOT NULL,
        table_name TEXT NOT NULL,
        epsilon TEXT NOT NULL,
        why TEXT NOT NULL,
        made INTEGER NOT NULL,
        state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'approved', 'declined')),
        decided INTEGER,
        decided_by TEXT,
        word TEXT NOT NULL DEFAULT '',
        CHECK ((state = 'open') = (decided IS NULL) AND (state = 'open') = (decided_by IS NULL))
    ) STRICT""",
    """CREATE TRIGGER requests_decided BEFORE UPDATE ON requests WHEN OLD.state <> 'open'
        BEGIN SELECT RAISE(ABORT, 'a request is decided once'); END""",
    """CREATE TABLE published (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        release TEXT NOT NULL UNIQUE,
        published INTEGER NOT NULL,
        by TEXT NOT NULL,
        fields TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE denials (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        time INTEGER NOT NULL,
        who TEXT NOT NULL,
        method TEXT NOT NULL,
        route TEXT NOT NULL,
        why TEXT NOT NULL
    ) STRICT""",
    f"""CREATE TABLE keys (
        owner {_DIGEST.format("owner")},
        key TEXT NOT NULL,
        body {_DIGEST.format("body")},
        state TEXT NOT NULL,
        result TEXT,
        made INTEGER NOT NULL,
        PRIMARY KEY (owner, key)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX keys_made ON keys (made)",
)

#: By version: what makes it of the one before. A file of an older version is brought here when it is opened.
#: people.temporary: whether the password was chosen by somebody else, and must be changed before anything else.
UPGRADES = {
    2: (
        "ALTER TABLE people ADD COLUMN temporary INTEGER NOT NULL DEFAULT 0 CHECK (temporary IN (0, 1))",
        """CREATE TABLE answer_notes (
            release TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            tags TEXT NOT NULL,
            note TEXT NOT NULL,
            changed INTEGER NOT NULL,
            by TEXT NOT NULL
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE refused_queries (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            person INTEGER NOT NULL REFERENCES people (number),
            time INTEGER NOT NULL,
            text TEXT NOT NULL,
            why TEXT NOT NULL,
            hint TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX refused_queries_person ON refused_queries (person)",
    ),
    3: (
        """CREATE TABLE saved_drafts (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            person INTEGER NOT NULL REFERENCES people (number),
            time INTEGER NOT NULL,
            content TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX saved_drafts_person ON saved_drafts (person)",
    ),
}

SCHEMA = (*_FIRST, *(statement for version in sorted(UPGRADES) for statement in UPGRADES[version]))
