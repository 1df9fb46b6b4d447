"""The SQL path, from the text of a question to the rows of its answer, over tables that the audit makes up.

`canaries` hides people in cells of their own, and `joins` where a person's rows become others; `spending` reads several
answers together; `laws` holds the noise of answers against what they cost; `keys` looks at keys that are found.
"""

from __future__ import annotations

from discreet.lab.audit.sql import canaries, joins, keys, laws, spending
from discreet.lab.audit.sql.world import KIND
from discreet.lab.audit.targets import Target

__all__ = ["KIND", "targets"]


def targets() -> list[Target]:
    """Questions of every kind."""
    return [*canaries.targets(), *joins.targets(), *spending.targets(), *laws.targets(), *keys.targets()]
