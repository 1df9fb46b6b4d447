"""What the code promises about its public names and its stored events. (The manual itself is tested in tests/manual.)"""

import typing

import discreet
from discreet.accounting import events


def test_every_event_kind_can_be_stored():
    """A new event is unsound until storage knows it."""
    stored = {*events._KINDS.values(), events.ComposedEvent}
    assert set(typing.get_args(events.Event)) == stored


def test_public_names_exist():
    assert all(hasattr(discreet, name) for name in discreet.__all__)
    assert discreet.__all__ == sorted(discreet.__all__)
