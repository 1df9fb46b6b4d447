"""The SQL path, from the text of a question to the rows of its answer, over tables that the audit makes up.

`canaries` hides people in cells of their own, and `joins` where a person's rows become others; `spending` reads several
answers together; `laws` holds the noise of answers against what they cost; `keys` looks at keys that are found.
"""

from __future__ import annotations

from discreet.lab.privacy_audit.sql import answer_laws, canaries, composition, discovered_keys, joins
from discreet.lab.privacy_audit.sql.canary_tables import KIND
from discreet.lab.privacy_audit.targets import AuditTarget

__all__ = ["KIND", "targets"]


def targets() -> list[AuditTarget]:
    """Questions of every kind."""
    return [
        *canaries.targets(),
        *joins.targets(),
        *composition.targets(),
        *answer_laws.targets(),
        *discovered_keys.targets(),
    ]
