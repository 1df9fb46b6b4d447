#!/usr/bin/env python3
"""The project's errands. `./do demo` and `./do test` are all a newcomer needs.

Standard library only. Makes .venv, installs a hash-pinned lock, runs the job: `demo` and `run` need the small one,
the runtime's; every other job installs the developers' lock on top of it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
RUNTIME = ROOT / "locks" / "runtime.lock"
#: All of the runtime's lock, and what tests, checks and pages need.
DEVELOPMENT = ROOT / "locks" / "dev.lock"
# Tests of a file run in one worker: what they share is made once. (Marks of groups do nothing: xdist 3.8 changes a name
# that pytest 9.2 does not look at.) Files in the order of tests/order.py, not by how many tests they have.
PYTEST = ("-m", "pytest", "-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")

#: So much room must a folder in memory have, and the memory itself, to hold the temporary files of the tests.
ROOM = 3 * 2**30

#: So long may the making of a peer's environment take.
PEER_S = 600

JOBS = {
    "demo": "the tour, on generated data, in a temporary folder",
    "test": "lint, types, import contracts, then the fast tests (--deep: all, full size); other words go to pytest",
    "check": "ruff, mypy strict, import-linter, names, shape",
    "bench": "./do bench NAME, or all: figures, beside peers in environments of their own (--quick: about ten minutes)",
    "peer": "./do peer NAME: make the environment of one peer of the benchmarks",
    "fuzz": "the long fuzzers (DISCREET_FUZZ=0.05: a twentieth of their work, in about an hour; 10: ten times all)",
    "docs": "the manual: the reference from the code (--write renews it), then the site in site/",
    "lock": "compile the locks again (needs uv)",
    "run": "./do run ARGS: the discreet command from this checkout",
}


def call(*words: str | Path, **more: object) -> None:
    """Run a command; leave with its exit code if it fails."""
    done = subprocess.run([str(word) for word in words], cwd=ROOT, **more)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(done.returncode)


def stop(sentence: str) -> None:
    print(f"do: {sentence}", file=sys.stderr)
    sys.exit(1)


def make_venv(folder: Path) -> None:
    """An empty environment, by uv where there is one, else by venv; says what is missing."""
    if shutil.which("uv"):
        call("uv", "venv", "--quiet", "--clear", folder)
        return
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True)
    if made.returncode == 0:
        return
    shutil.rmtree(folder, ignore_errors=True)
    if shutil.which("apt-get") and os.geteuid() == 0:
        call("apt-get", "update", "-qq")
        call("apt-get", "install", "-y", "-qq", "python3-venv", stdout=subprocess.DEVNULL)
        call(sys.executable, "-m", "venv", folder)
        return
    stop("this Python has no venv module. Install python3-venv (Debian: apt-get install python3-venv) or uv.")


def install(folder: Path, lock: Path) -> None:
    """Install exactly the lock, hashes checked."""
    if shutil.which("uv"):
        call("uv", "pip", "sync", "--quiet", "--python", python_of(folder), "--require-hashes", lock)
    else:
        call(*pip(folder), "install", "--require-hashes", "--no-deps", "-r", lock)


def install_project(folder: Path) -> None:
    """Install this checkout, built by the backend that the lock brought: nothing is fetched."""
    build = ["uv", "pip", "--quiet"] if shutil.which("uv") else pip(folder)
    where = ["--python", python_of(folder)] if shutil.which("uv") else []
    call(*build, "install", *where, "--no-deps", "--no-build-isolation", "--editable", ".")


def python_of(folder: Path) -> Path:
    return folder / BIN.name / "python"


def pip(folder: Path) -> list[str | Path]:
    return [python_of(folder), "-m", "pip", "--quiet", "--disable-pip-version-check"]


def environment(folder: Path = VENV, lock: Path = DEVELOPMENT, *, project: bool = True) -> Path:
    """Make the environment when it is missing or its lock has changed; return its python."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the first thing that runs, on whatever Python there is
        stop(f"Discreet needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    stamp = folder / "lock.stamp"  # the digests of the locks that are installed
    installed = stamp.read_text().split() if stamp.exists() else []
    if digest(lock) not in installed:
        if lock == DEVELOPMENT and digest(RUNTIME) in installed:
            print(f"do: adding the tools of developers to {folder.relative_to(ROOT)} (once)", file=sys.stderr)
        else:
            print(f"do: making {folder.relative_to(ROOT)} (once)", file=sys.stderr)
            make_venv(folder)
        install(folder, lock)
        (folder / "project.stamp").unlink(missing_ok=True)  # uv takes away what the lock does not name
        included = [RUNTIME] if lock == DEVELOPMENT else []
        stamp.write_text("\n".join(digest(each) for each in [lock, *included]))
    if project and stale(folder / "project.stamp", ROOT / "pyproject.toml"):
        install_project(folder)
        (folder / "project.stamp").write_text(digest(ROOT / "pyproject.toml"))
    return python_of(folder)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stale(stamp: Path, path: Path) -> bool:
    """Whether what was installed from `path` is not what it says now."""
    return not stamp.exists() or stamp.read_text() != digest(path)


def check(python: Path) -> None:
    call(python, "-m", "ruff", "check", ".")
    call(python, "-m", "ruff", "format", "--check", ".")
    for words in slow_checks(python):
        call(*words)


def slow_checks(python: Path) -> list[list[str | Path]]:
    """Types, import contracts, names that mean more than one thing, and the shape of signatures and imports."""
    own = [[python, ROOT / "checks" / f"{name}.py"] for name in ("names", "shape")]
    return [[python, "-m", "mypy"], [BIN / "lint-imports", "--no-cache"], *own]


def test_all(python: Path) -> None:
    """What is quick to check first; then the tests, and the types beside them: mypy keeps one core busy for long."""
    call(python, "-m", "ruff", "check", ".")
    call(python, "-m", "ruff", "format", "--check", ".")
    programs()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each worker compiles pytest and hypothesis anew
    with tempfile.TemporaryFile("w+") as told:
        beside = [
            subprocess.Popen(list(map(str, words)), cwd=ROOT, stdout=told, stderr=told) for words in slow_checks(python)
        ]
        with quick_folder():
            tested = subprocess.run([str(python), *PYTEST], cwd=ROOT).returncode
        checked = max(each.wait() for each in beside)
        told.seek(0)
        print(told.read(), end="")
    if tested or checked:
        sys.exit(tested or checked)


@contextmanager
def quick_folder() -> Iterator[None]:
    """Temporary files of the tests in memory where there is room: their thousands of small databases wait for the disk
    else. What they say about processes that are killed holds there as well; the plug of a machine no test can pull.
    """
    shared = Path("/dev/shm")  # noqa: S108 - a folder of a new name is made in it
    if "TMPDIR" in os.environ or not roomy(shared):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="discreet-", dir=shared, ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o711)  # noqa: S103 - a PostgreSQL that root starts runs as somebody else, and must get in
        os.environ["TMPDIR"] = folder
        try:
            yield
        finally:
            del os.environ["TMPDIR"]


def roomy(folder: Path) -> bool:
    """Whether a folder in memory can be written to, programs in it can run, and both have room."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
        runs = not os.statvfs(folder).f_flag & os.ST_NOEXEC
        return runs and os.access(folder, os.W_OK) and min(free, shutil.disk_usage(folder).free) > ROOM
    except (OSError, StopIteration):
        return False


def debian(command: str, package: str, *, what: str) -> None:
    """A program that tests need: installed where we may, else asked for in one sentence."""
    if shutil.which(command):
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        print(f"do: installing {package} for {what} (once)", file=sys.stderr)
        call("apt-get", "update", "-qq")
        call("apt-get", "install", "-y", "-qq", "--no-install-recommends", package, stdout=subprocess.DEVNULL)
        return
    print(f"do: {what} will fail without {command} (Debian: apt-get install {package}).", file=sys.stderr)


def programs() -> None:
    """What the tests need beside Python."""
    debian("chromium", "chromium", what="the browser tests")
    debian("java", "openjdk-17-jre-headless", what="the Spark tests")


def bench(python: Path, words: list[str]) -> None:
    """Benchmarks; a peer runs in an environment of its own, made from benchmarks/peers/NAME.txt."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted((ROOT / "benchmarks").glob("bench_*.py"))}
    names = [word for word in words if not word.startswith("-")]
    everything = not names or names == ["all"]
    wanted = list(found) if everything else names
    for name in wanted:
        if name not in found:
            stop(f"no benchmark {name!r}; there are: {', '.join(found)}")
    slow = "--peers" in words or (everything and "--quick" not in words)
    if "--summary" not in words:
        peers([found[name].read_text() for name in wanted], slow=slow)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # as the command line does: on a busy machine a second thread only waits
    flags = [word for word in words if word.startswith("-")]
    job = ROOT / "benchmarks" / "job.py"
    if everything:
        call(python, job, *flags)
        return
    codes = [subprocess.run([str(python), str(found[name]), *flags], cwd=ROOT).returncode for name in wanted]
    call(python, job, "--summary", *(word for word in flags if word == "--quick"))
    if any(codes):
        sys.exit(max(codes))


def peers(texts: list[str], *, slow: bool) -> None:
    """Environments of the peers that benchmarks name in quotes; of those named "peers:NAME" where slow ones are wanted.

    One that cannot be made is a dash, not the end: its reason is kept where benchmarks find it.
    """
    for lock in sorted((ROOT / "benchmarks" / "peers").glob("*.txt")):
        names = [f'"{lock.stem}"', *([f'"peers:{lock.stem}"'] if slow else [])]
        if any(name in text for text in texts for name in names):
            reason = peer_problem(lock)
            told = ROOT / "benchmarks" / ".peers" / f"{lock.stem}.reason"
            told.unlink(missing_ok=True)
            if reason:
                told.parent.mkdir(exist_ok=True)
                told.write_text(f"{reason}\n")
                print(f"do: no environment for {lock.stem}: {reason}", file=sys.stderr)


def peer_problem(lock: Path) -> str:
    """Make a peer's environment by a process of its own; why that did not work, or nothing."""
    words = [sys.executable, str(ROOT / "do"), "peer", lock.stem]
    try:
        made = subprocess.run(words, stderr=subprocess.PIPE, text=True, timeout=PEER_S)
    except subprocess.TimeoutExpired:
        return f"not installed after {PEER_S} s"
    if made.returncode == 0:
        return ""
    lines = [line.strip() for line in made.stderr.splitlines() if "error" in line.lower() or "cause" in line.lower()]
    return "cannot be installed here: " + (lines[0] if lines else f"exit code {made.returncode}")[:200]


def lock_all() -> None:
    if not shutil.which("uv"):
        stop("compiling locks needs uv on the PATH")
    plain = ["--quiet", "--generate-hashes", "--no-header", "--no-annotate", "--python-version", "3.11"]
    quiet = {"stdout": subprocess.DEVNULL}
    ours = ["uv", "pip", "compile", "pyproject.toml", "--extra", "console", "--extra", "survey", *plain]
    call(*ours, "--group", "dev", "-o", DEVELOPMENT, **quiet)
    call(*ours, "--group", "build", "-c", DEVELOPMENT, "-o", RUNTIME, **quiet)
    for wish in sorted((ROOT / "benchmarks" / "peers").glob("*.in")):
        call("uv", "pip", "compile", wish, *plain, "-o", wish.with_suffix(".txt"), **quiet)


def main() -> None:
    job, *rest = sys.argv[1:] or ["help"]
    if job not in JOBS:
        print("usage: ./do JOB\n\n" + "\n".join(f"  {name:6} {text}" for name, text in JOBS.items()))
        sys.exit(0 if job in ("help", "-h", "--help") else 2)
    if job == "lock":
        lock_all()
        return
    if job == "peer":
        for lock in [ROOT / "benchmarks" / "peers" / f"{name}.txt" for name in rest]:
            if not lock.exists():
                stop(f"no peer {lock.stem!r}: there is no benchmarks/peers/{lock.name}")
            environment(ROOT / "benchmarks" / ".peers" / lock.stem, lock, project=False)
        return
    python = environment(lock=RUNTIME if job in ("demo", "run") else DEVELOPMENT)
    if job == "demo":
        call(BIN / "discreet", "demo", *rest)
    elif job == "run":
        call(BIN / "discreet", *rest)
    elif job == "check":
        check(python)
    elif job == "test":
        if "--deep" in rest:
            rest.remove("--deep")
            os.environ["DISCREET_DEEP"] = "1"  # tests/tiers.py
        if not rest:
            test_all(python)
            return
        if any("browser" in word for word in rest):
            programs()
        with quick_folder():
            call(python, *PYTEST, *rest)
    elif job == "fuzz":
        os.environ["DISCREET_DEEP"] = "1"
        call(python, *PYTEST, "--dist", "load", "-m", "fuzz", "--timeout", "7200", *rest)
    elif job == "bench":
        bench(python, rest)
    elif job == "docs":
        call(python, "-m", "manual.reference", *rest)
        call(python, "-m", "manual.site")


if __name__ == "__main__":
    main()
