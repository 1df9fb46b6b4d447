"""What the content of a file says, beyond the names of its columns. `versions` keeps it from all but the owner."""

from discreet.errors import UsageError


class ContentFault(UsageError):
    """A file that is damaged, encrypted or too large. One row may be why, so that only the owner is told."""
