"""People: the whole of it, over one store. What the rest of the console holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from discreet.console.people import browsers
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What came of a try to log in.

    cookie: of the new session; None where the name or the password is wrong. browser: the cookie of known browsers to
    keep. delay_s: how long the answer waits, be it right or wrong.
    """

    cookie: str | None = field(default=None, repr=False)
    browser: str | None = field(default=None, repr=False)
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """A name and a password that were checked. `mark`: by which the browser is known."""

    person: Person | None = None
    stored: str = field(default="", repr=False)
    mark: str = field(default="", repr=False)
    delay_s: float = 0.0


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

    def attempt(
        self, name: str, password: str, *, address: str, instead_of: str = "", browser: str = "", trusted: str = ""
    ) -> Attempt:
        """Try to log in. Raises Throttled.

        instead_of: the browser's session until now, which ends. browser: its cookie of known browsers. trusted: what
        else shows that it is the person's own browser: the secret of their session.

        Guarantee: an unknown name, a wrong password, a disabled person and a throttled name cost the same hash, and
            all but the last, which is the same for unknown names, are answered alike.
        """
        tried = self._check(name, password, address=address, browser=browser, trusted=trusted)
        if tried.person is None:
            return Attempt(delay_s=tried.delay_s)
        password_hash = self._renewed(tried.person, tried.stored, password)
        cookie = self.sessions.begin(tried.person, password_hash=password_hash, instead_of=instead_of)
        new = browsers.mark(tried.person, password_hash, now=int(self.clock()))
        marks = browsers.with_mark(browser, new, instead_of=tried.mark)
        return Attempt(cookie=cookie, browser=marks, delay_s=tried.delay_s)

    def log_in(self, name: str, password: str, *, address: str, instead_of: str = "") -> str | None:
        """The cookie of a new session, or None; for who needs no more of an attempt."""
        return self.attempt(name, password, address=address, instead_of=instead_of).cookie

    def check(self, name: str, password: str, *, address: str, trusted: str = "") -> Person | None:
        """Whose name and password these are, if anybody's who may come. Raises Throttled."""
        return self._check(name, password, address=address, trusted=trusted).person

    def set_password(self, name: str, password: str) -> Person:
        """A new password; ends all of the person's sessions."""
        return self.roster.set_password(name, self.passwords.made(password))

    def close(self) -> None:
        """Let go of the file."""
        self.store.close()

    def _check(self, name: str, password: str, *, address: str, browser: str = "", trusted: str = "") -> _Checked:
        name = " ".join(name[: 4 * LONGEST_NAME].split())  # nobody's name is longer
        credentials = self.roster.credentials(name)
        person, stored = credentials or (None, None)
        mark = browsers.known(browser, person, stored, now=int(self.clock())) if person and stored else ""
        if not (mark or trusted):
            self.throttle.address(address)
        try:
            tried = self.throttle.enter(name, address, browser=mark or trusted)
        except Throttled:
            self.passwords.right(stored, password)  # the same cost; what it says is not heard
            raise
        if not self.passwords.right(stored, password):
            return _Checked(delay_s=tried.delay_s)
        self.throttle.forgive(tried)
        return _Checked(person=person, stored=stored or "", mark=mark, delay_s=tried.delay_s)

    def _renewed(self, person: Person, stored: str, password: str) -> str:
        """The hash that was checked, or the same password's under today's parameters."""
        if not self.passwords.outdated(stored):
            return stored
        renewed = self.passwords.hashed(password)
        self.roster.rehash(person, old=stored, new=renewed)  # changed meanwhile: then no session begins
        return renewed
