"""Generated worlds that several tests look at, made once. They are seeded, or only read: nothing here changes."""

from functools import cache

from discreet.lab.registry import ATTACKS
from discreet.lab.worlds import rating_service


@cache
def shown(name):
    """What an attack finds on its generated data, by its verb."""
    (listed,) = (each for each in ATTACKS if each.name == name)
    return listed.run()


_make = rating_service.make_ratings


@cache
def service():
    """The ratings of the generated film service."""
    return _make()
