"""The checker in the wheel, and as a module of the package: the same files, which import nothing of the package."""

import subprocess
import sys
import zipfile

import pytest

from verify import world


def module(*words, path=None, cwd="/", env=None):
    """`python -m discreet.verify`, of the package in a folder; without one, of the checkout."""
    found = f"import sys; sys.path.insert(0, {str(path or world.ROOT / 'src')!r})"
    run = "import runpy; runpy.run_module('discreet.verify', run_name='__main__', alter_sys=True)"
    return subprocess.run(
        [sys.executable, "-I", "-c", f"{found}; {run}", *words], capture_output=True, text=True, cwd=cwd, env=env or {}
    )


def test_the_module_is_the_same_checker(bundles, tmp_path):
    for name in ("rows: average", "persons: words"):
        folder = world.written(bundles[name], tmp_path / name)
        own, other = world.recheck(folder), module(str(folder))
        assert (own.returncode, own.stdout, own.stderr) == (other.returncode, other.stdout, other.stderr)
    assert module("--help").stdout == world.recheck("--help").stdout and module(str(tmp_path)).returncode == 3


def test_the_module_imports_nothing_of_the_package():
    """But for the package itself, which Python imports first, and what that imports: `import discreet`."""
    code = (
        f"import sys; sys.path.insert(0, {str(world.ROOT / 'src')!r}); import discreet; before = set(sys.modules); "
        "sys.argv = ['-m', '--help']; import runpy\n"
        "try: runpy.run_module('discreet.verify', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(sorted(n for n in set(sys.modules) - before if n.startswith('discreet.')), "
        "sorted(n for n in set(sys.modules) - before if n.split('.')[0] not in sys.stdlib_module_names | {'discreet'} "
        "and not (getattr(sys.modules[n], '__file__', '') or '').startswith(sys.argv[0][:-len('check_bundle.py')])))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd="/")
    assert done.stdout.splitlines()[-1] == "[] []", done.stdout + done.stderr


@pytest.mark.deep
def test_the_wheel_has_the_checker(bundles, tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    (made,) = WheelBuilder(str(world.ROOT)).build(directory=str(tmp_path), versions=["standard"])
    zipfile.ZipFile(made).extractall(tmp_path / "site")
    inside = tmp_path / "site" / "discreet" / "verify"
    for path in sorted(world.CHECKER.parent.iterdir()):
        if path.is_file():
            assert (inside / path.name).read_bytes() == path.read_bytes()
    assert {path.name for path in inside.glob("*.py")} == {path.name for path in world.CHECKER.parent.glob("*.py")}
    folder = world.written(bundles["rows: average"], tmp_path / "bundle")
    for done in (
        module(str(folder), path=tmp_path / "site"),
        world.recheck(folder, checker=inside / "check_bundle.py"),
    ):
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout == world.recheck(folder).stdout
