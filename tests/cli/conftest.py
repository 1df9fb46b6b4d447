"""What all tests of the command line want."""

from one_database import _one_database

__all__ = ["_one_database"]
