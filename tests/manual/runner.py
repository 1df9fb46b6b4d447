"""Runs a page of the manual: its blocks in order, in one folder and one Python namespace, compared with what it shows."""

import code
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from manual.masking import differs, draws_nothing
from manual.pages import ROOT, Block, Page, PageError, name_of
from manual.worlds import gathered

#: Folders of this repository whose programs a page may call as if they lay beside its files.
PROGRAMS = ("verify", "examples")
#: What `last …` can be, and how it looks in what is printed.
LAST = {
    "release": r"(?<![\w-])([rd]-[a-z0-9]{10,32})(?!\w)",
    "survey": r'(?:created survey |"survey": ")([a-z0-9]{10})(?!\w)',
}


def run(page: Page, folder: Path) -> None:
    """Run every block of a page, in `folder`, which is the current one; raises PageError where the page is wrong."""
    worlds = gathered()
    if page.world not in worlds:
        raise PageError(f"{name_of(page.path)}: no world {page.world!r}; there are: {', '.join(sorted(worlds))}")
    environment = dict(os.environ)
    ending = None
    try:
        ending = worlds[page.world](folder)
        session = _Session(page, folder)
        for block in page.blocks:
            session.do(block)
    finally:
        if ending is not None:
            ending()
        os.environ.clear()
        os.environ.update(environment)


class _Teed(io.StringIO):
    """Keeps what is printed, and writes it into another stream, too, where errors come between."""

    beside: io.StringIO

    def write(self, text: str) -> int:
        self.beside.write(text)
        return super().write(text)


class _Session:
    """What is known while a page runs: its names, and what was printed last."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__page__"}
        self.printed = ""
        self.lets: dict[str, str] = {}  # names that were told, and what they stand for
        self.waiting: dict[str, str] = {}  # names that nobody has needed yet

    def do(self, block: Block) -> None:
        self.waiting |= block.lets
        if block.not_run is not None:
            return
        try:
            if block.file is not None:
                self._place(block.file).write_text(self._filled(block.text), encoding="utf-8")
            elif block.into is not None:
                into(self._place(block.into), self._filled(block.text))
            elif block.language == "console":
                self._console(block)
            elif block.language == "python":
                self._python(block)
            elif block.language == "pycon":
                self._pycon(block)
            elif block.language == "toml":
                tomllib.loads(block.text)
        except PageError as problem:
            raise PageError(f"{name_of(self.page.path)}:{block.line}: {problem}") from None
        except (Exception, SystemExit) as problem:
            told = "".join(traceback.format_exception(problem))
            raise PageError(f"{name_of(self.page.path)}:{block.line}: this block raises\n{told}") from None

    def _place(self, name: str) -> Path:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise PageError(f"{name!r} lies outside the page's folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _filled(self, text: str) -> str:
        """Text with names that stand for something replaced; a name takes what is last when it is first needed."""
        for name, wanted in list(self.waiting.items()):
            if re.search(rf"\b{name}\b", text):
                kind = wanted.removeprefix("last ")
                if kind not in LAST:
                    raise PageError(f"the runner knows {', '.join('last ' + known for known in LAST)}; not {wanted!r}")
                found = re.findall(LAST[kind], self.printed)
                if not found:
                    raise PageError(f"{name} is the {wanted}, and nothing printed one yet")
                self.lets[name] = found[-1]
                del self.waiting[name]
        for name, value in self.lets.items():
            text = re.sub(rf"\b{name}\b", value, text)
        return text

    def _console(self, block: Block) -> None:
        steps = console_steps(block.text)
        for number, (command, shown) in enumerate(steps):
            wanted = block.exit_code if number == len(steps) - 1 else 0
            command = self._filled(command)
            exit_code, seen, alone = self._call(command)
            self.printed += seen
            if exit_code != wanted:
                raise PageError(f"`{command}` ends with {exit_code}, not {wanted}:\n{seen}")
            if shown.strip():
                # A page may leave out what stderr says beside an answer (notes, progress), all of it or nothing.
                ids = re.findall(LAST["survey"], self.printed)
                exact = draws_nothing(command) and not block.noisy
                told = differs(self._filled(shown), seen, command=command, ids=ids, exact=exact)
                if told and (exit_code or differs(self._filled(shown), alone, command=command, ids=ids, exact=exact)):
                    raise PageError(f"`{command}`: {told}")

    def _call(self, command: str) -> tuple[int, str, str]:
        """Exit code, everything printed (errors stand where they came), and stdout alone."""
        words = shlex.split(command, comments=True)
        if not words:
            raise PageError("a prompt without a command")
        for sign in ("|", ">", ">>", "<", "&&", ";", "&"):
            if sign in words:
                raise PageError(f"the runner is no shell: {sign!r} in `{command}`")
        match words:
            case ["discreet", *rest]:
                return self._discreet(rest)
            case ["cat", name]:
                text = self._place(name).read_text(encoding="utf-8")
                return 0, text, text
            case ["ls", *rest] if len(rest) <= 1:
                inside = self._place(rest[0]) if rest else self.folder
                names = sorted(each.name for each in inside.iterdir() if not each.name.startswith("."))
                text = "".join(f"{each}\n" for each in names)
                return 0, text, text
            case ["python", name, *rest] if not name.startswith("-"):
                return self._program(name, rest)
        raise PageError(f"the runner knows discreet, cat, ls and python FILE; not `{command}`")

    def _discreet(self, words: list[str]) -> tuple[int, str, str]:
        from discreet.cli.main import call

        printed, both = _Teed(), io.StringIO()
        printed.beside = both
        with redirect_stdout(printed), redirect_stderr(both):
            exit_code = call(words)
        return exit_code, both.getvalue(), printed.getvalue()

    def _program(self, name: str, words: list[str]) -> tuple[int, str, str]:
        path = self.folder / name
        if not path.exists() and Path(name).parts[0] in PROGRAMS:
            path = ROOT / name
        done = subprocess.run(
            [sys.executable, str(path), *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stdout

    def _python(self, block: Block) -> None:
        printed = io.StringIO()
        text = "\n" * block.line + self._filled(block.text)  # line numbers as on the page
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                exec(compile(text, name_of(self.page.path), "exec"), self.names)
        finally:
            self.printed += printed.getvalue()

    def _pycon(self, block: Block) -> None:
        examples = doctest.DocTestParser().get_examples(self._filled(block.text), name_of(self.page.path))
        if not examples:
            raise PageError("a pycon block has lines that begin with >>>")
        shell = code.InteractiveInterpreter(self.names)  # type: ignore[arg-type]
        for example in examples:
            printed = io.StringIO()
            error = None
            with redirect_stdout(printed), redirect_stderr(printed):
                try:
                    exec(shell.compile(example.source, name_of(self.page.path), "single"), self.names)
                except Exception as problem:
                    error = "".join(traceback.format_exception_only(problem))
            seen = printed.getvalue()
            self.printed += seen
            if error is not None and example.exc_msg is None:
                raise PageError(f"{example.source.strip()} raises {error}")
            want, got = (example.exc_msg, error or "") if example.exc_msg else (example.want, seen)
            told = differs(want, got, exact=not block.noisy)
            if told:
                raise PageError(f"{example.source.strip()}: {told}")


def console_steps(text: str) -> list[tuple[str, str]]:
    """Commands of a console block, and what is shown below each."""
    head, *parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if head.strip() or not parts:
        raise PageError("a console block begins with `$ `")
    steps = []
    for part in parts:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1].rstrip() + " " + more.strip()
        steps.append((command, shown))
    return steps


def into(path: Path, text: str) -> None:
    """Put each [section] of `text` into a TOML file: in place of the one of that name, or at its end."""
    tomllib.loads(text)
    whole = path.read_text(encoding="utf-8") if path.exists() else ""
    for part in re.split(r"^(?=\[)", text, flags=re.MULTILINE):
        if not part.strip() or all(line.startswith("#") for line in part.strip().splitlines()):
            continue
        header = re.match(r"\[\[?[^\]\n]+\]\]?", part)
        if header is None:
            raise PageError("what goes into a file begins with a [section]")
        found = re.search(rf"^{re.escape(header[0])}[^\n]*\n(?:(?!\[).*\n?)*", whole, flags=re.MULTILINE)
        if found:
            whole = whole[: found.start()] + part.strip() + "\n\n" + whole[found.end() :]
        else:
            whole = whole.rstrip() + "\n\n" + part.strip() + "\n"
    tomllib.loads(whole)
    path.write_text(whole, encoding="utf-8")
