"""People: the whole of it, over one store. What the rest of the console holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from discreet.console.people import browsers
from discreet.console.people.answer_notes import AnswerNotes
from discreet.console.people.budget_requests import BudgetRequests
from discreet.console.people.clock import Clock, wall_clock
from discreet.console.people.denials import Denials
from discreet.console.people.idempotency_keys import IdempotencyKeys
from discreet.console.people.passwords import Passwords
from discreet.console.people.people_store import NAME, PeopleStore
from discreet.console.people.publications import Publications
from discreet.console.people.refused_queries import RefusedQueries
from discreet.console.people.roster import PeopleRoster, Person, PersonRole
from discreet.console.people.saved_drafts import SavedDrafts
from discreet.console.people.sessions import BrowserSessions
from discreet.console.people.setup_link import SetupLink
from discreet.console.people.throttle import LoginThrottle, TooManyLogins
from discreet.console.people.tokens import ApiTokens
from discreet.console.people.typed_text import LONGEST_NAME
from discreet.errors import Command, Message, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginAttempt:
    """What came of a try to log in.

    cookie: of the new session; None where the name or the password is wrong. browser: the cookie of known browsers to
    keep. delay_s: how long the answer waits, be it right or wrong.
    """

    cookie: str | None = field(default=None, repr=False)
    browser: str | None = field(default=None, repr=False)
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _CheckedLogin:
    """A name and a password that were checked. `mark`: by which the browser is known."""

    person: Person | None = None
    stored: str = field(default="", repr=False)
    mark: str = field(default="", repr=False)
    delay_s: float = 0.0


class People:
    """Who may come. The parts do one thing each; what takes several of them is here."""

    def __init__(self, path: Path, *, clock: Clock = wall_clock, passwords: Passwords | None = None) -> None:
        self.store = PeopleStore(path)
        self.clock = clock
        self.passwords = Passwords() if passwords is None else passwords
        self.roster = PeopleRoster(self.store, clock)
        self.sessions = BrowserSessions(self.store, clock)
        self.tokens = ApiTokens(self.store, clock)
        self.setup = SetupLink(self.store, clock)
        self.throttle = LoginThrottle(clock)
        self.requests = BudgetRequests(self.store, clock)
        self.published = Publications(self.store, clock)
        self.notes = AnswerNotes(self.store, clock)
        self.refused = RefusedQueries(self.store, clock)
        self.drafts = SavedDrafts(self.store, clock)
        self.denials = Denials(self.store, clock)
        self.keys = IdempotencyKeys(self.store, clock)

    @staticmethod
    def of(folder: Path, *, clock: Clock = wall_clock, passwords: Passwords | None = None) -> People:
        """The people of a project's folder."""
        return People(folder / ".discreet" / NAME, clock=clock, passwords=passwords)

    def add(
        self, name: str, *, role: PersonRole, password: str, analyst: str | None = None, temporary: bool = False
    ) -> Person:
        """A new person. `temporary`: somebody else knows the password, and its person must change it first."""
        password_hash = self.passwords.hash_new(password, (name,))
        return self.roster.add(name, role=role, password_hash=password_hash, analyst=analyst, temporary=temporary)

    def first_owner(self, link: str, *, name: str, password: str) -> Person:
        """The first owner, who came by the setup link."""
        if not self.setup.holds(link):  # before the hash, which is work that nobody without the link may cause
            raise UsageError(
                "this link is no longer valid", hint=Message("log in, or start ", Command("serve"), " again")
            )
        return self.setup.take(link, name=name, password_hash=self.passwords.hash_new(password, (name,)))

    def attempt(
        self, name: str, password: str, *, address: str, instead_of: str = "", browser: str = "", trusted: str = ""
    ) -> LoginAttempt:
        """Try to log in. Raises Throttled.

        instead_of: the browser's session until now, which ends. browser: its cookie of known browsers. trusted: what
        else shows that it is the person's own browser: the secret of their session.

        Guarantee: an unknown name, a wrong password, a disabled person and a throttled name cost the same hash, and
            all but the last, which is the same for unknown names, are answered alike.
        """
        tried = self._check(name, password, address=address, browser=browser, trusted=trusted)
        if tried.person is None:
            return LoginAttempt(delay_s=tried.delay_s)
        password_hash = self._renew_hash(tried.person, tried.stored, password)
        cookie = self.sessions.begin(tried.person, password_hash=password_hash, instead_of=instead_of)
        new = browsers.new_mark(tried.person, password_hash, now=int(self.clock()))
        marks = browsers.with_mark(browser, new, instead_of=tried.mark)
        return LoginAttempt(cookie=cookie, browser=marks, delay_s=tried.delay_s)

    def log_in(self, name: str, password: str, *, address: str, instead_of: str = "") -> str | None:
        """The cookie of a new session, or None; for who needs no more of an attempt."""
        return self.attempt(name, password, address=address, instead_of=instead_of).cookie

    def set_password(self, name: str, password: str, *, temporary: bool = False) -> Person:
        """A new password; ends all of the person's sessions. `temporary`: its person must change it first."""
        return self.roster.set_password(name, self.passwords.hash_new(password, (name,)), temporary=temporary)

    def change_password(self, name: str, old: str, new: str, *, address: str, trusted: str = "") -> Person | None:
        """A person's own new password; None where the old one is wrong. Ends all of their sessions.

        Guarantee: what an owner set since the old password was checked stands.
        Because: the new one is written only in the place of the hash that was checked.
        """
        tried = self._check(name, old, address=address, trusted=trusted)
        if tried.person is None:
            return None
        if self.passwords.are_same(old, new):
            raise UsageError("choose another password than the current one")
        password_hash = self.passwords.hash_new(new, (name,))
        return self.roster.set_password(name, password_hash, instead_of=tried.stored)

    def close(self) -> None:
        """Let go of the file."""
        self.store.close()

    def _check(self, name: str, password: str, *, address: str, browser: str = "", trusted: str = "") -> _CheckedLogin:
        name = " ".join(name[: 4 * LONGEST_NAME].split())  # nobody's name is longer
        credentials = self.roster.credentials(name)
        person, stored = credentials or (None, None)
        mark = browsers.matching_mark(browser, person, stored, now=int(self.clock())) if person and stored else ""
        if not (mark or trusted):
            self.throttle.check_address(address)
        try:
            tried = self.throttle.enter(name, address, browser=mark or trusted)
        except TooManyLogins:
            self.passwords.is_right(stored, password)  # the same cost; what it says is not heard
            raise
        if not self.passwords.is_right(stored, password):
            return _CheckedLogin(delay_s=tried.delay_s)
        self.throttle.forgive(tried)
        return _CheckedLogin(person=person, stored=stored or "", mark=mark, delay_s=tried.delay_s)

    def _renew_hash(self, person: Person, stored: str, password: str) -> str:
        """The hash that was checked, or the same password's under today's parameters."""
        if not self.passwords.is_outdated(stored):
            return stored
        renewed = self.passwords.hash_existing(password)
        self.roster.rehash(person, old=stored, new=renewed)  # changed meanwhile: then no session begins
        return renewed
