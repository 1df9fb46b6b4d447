"""What the content of a file says, beyond the names of its columns: for the owner alone."""

from discreet.errors import UsageError


class ContentFault(UsageError):
    """A file that is damaged, encrypted or too large: one row may be why. `versions` keeps it from whoever asks."""
