"""What does not leave the curator."""

from __future__ import annotations

from typing import NoReturn


class Secret:
    """Cannot be printed or pickled; only the curator opens it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<exact cells, not shown>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact cells do not leave the curator")
