"""People: the whole of it, over one store. What the rest of the console holds."""

from __future__ import annotations

from pathlib import Path

from discreet.console.people.clock import Clock, wall
from discreet.console.people.denials import Denials
from discreet.console.people.keys import Keys
from discreet.console.people.passwords import Passwords
from discreet.console.people.published import Published
from discreet.console.people.requests import Requests
from discreet.console.people.roster import Person, PersonRole, Roster
from discreet.console.people.sessions import Sessions
from discreet.console.people.setup import Setup
from discreet.console.people.store import NAME, Store
from discreet.console.people.texts import LONGEST_NAME
from discreet.console.people.throttle import Throttle, Throttled
from discreet.console.people.tokens import Tokens
from discreet.errors import UsageError


class People:
    """Who may come. The parts do one thing each; what takes several of them is here."""

    def __init__(self, path: Path, *, clock: Clock = wall, passwords: Passwords | None = None) -> None:
        self.store = Store(path)
        self.clock = clock
        self.passwords = Passwords() if passwords is None else passwords
        self.roster = Roster(self.store, clock)
        self.sessions = Sessions(self.store, clock)
        self.tokens = Tokens(self.store, clock)
        self.setup = Setup(self.store, clock)
        self.throttle = Throttle(clock)
        self.requests = Requests(self.store, clock)
        self.published = Published(self.store, clock)
        self.denials = Denials(self.store, clock)
        self.keys = Keys(self.store, clock)

    @staticmethod
    def of(folder: Path, *, clock: Clock = wall, passwords: Passwords | None = None) -> People:
        """The people of a project's folder."""
        return People(folder / ".discreet" / NAME, clock=clock, passwords=passwords)

    def add(self, name: str, *, role: PersonRole, password: str, analyst: str | None = None) -> Person:
        """A new person."""
        return self.roster.add(name, role=role, password_hash=self.passwords.made(password), analyst=analyst)

    def first_owner(self, link: str, *, name: str, password: str) -> Person:
        """The first owner, who came by the setup link."""
        if not self.setup.holds(link):  # before the hash, which is work that nobody without the link may cause
            raise UsageError("this link is not good any more", hint="log in, or start discreet serve again")
        return self.setup.take(link, name=name, password_hash=self.passwords.made(password))

    def log_in(self, name: str, password: str, *, address: str, instead_of: str = "") -> str | None:
        """The cookie of a new session, or None. `instead_of`: the browser's cookie until now, which ends.

        Guarantee: an unknown name, a wrong password, a disabled person and a throttled name cost the same hash, and
            all but the last, which is the same for unknown names, are answered alike.
        """
        found = self._check(name, password, address)
        if found is None:
            return None
        person, stored = found
        return self.sessions.begin(person, password_hash=self._renewed(person, stored, password), instead_of=instead_of)

    def check(self, name: str, password: str, *, address: str) -> Person | None:
        """Whose name and password these are, if anybody's who may come. Raises Throttled."""
        found = self._check(name, password, address)
        return None if found is None else found[0]

    def set_password(self, name: str, password: str) -> Person:
        """A new password; ends all of the person's sessions."""
        return self.roster.set_password(name, self.passwords.made(password))

    def close(self) -> None:
        """Let go of the file."""
        self.store.close()

    def _check(self, name: str, password: str, address: str) -> tuple[Person, str] | None:
        self.throttle.address(address)
        name = " ".join(name[: 4 * LONGEST_NAME].split())  # nobody's name is longer
        found = self.roster.credentials(name)
        stored = None if found is None else found[1]
        try:
            tried = self.throttle.enter(name, address)
        except Throttled:
            self.passwords.right(stored, password)  # the same cost; what it says is not heard
            raise
        if not self.passwords.right(stored, password):
            return None
        self.throttle.forgive(tried)
        return found

    def _renewed(self, person: Person, stored: str, password: str) -> str:
        """The hash that was checked, or the same password's under today's parameters."""
        if not self.passwords.outdated(stored):
            return stored
        renewed = self.passwords.hashed(password)
        self.roster.rehash(person, old=stored, new=renewed)  # changed meanwhile: then no session begins
        return renewed
