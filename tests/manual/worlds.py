"""What lies in a page's folder at the start. A page names its world; modules worlds*.py beside this one are all gathered.

A world is a public function that takes the folder and writes small, generated files into it. One that starts something
returns how it is ended. What it sets in the environment holds for its page alone.
"""

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path

World = Callable[[Path], Callable[[], None] | None]


def empty(folder: Path) -> None:
    """Nothing."""


def clinic(folder: Path) -> None:
    """patients.csv as the demo has it (age,sex,disease,smoker), and nothing declared."""
    from discreet.lab.samples.sample_data import write_sample

    write_sample("clinic", folder)


def gathered() -> dict[str, World]:
    """Every world by its name."""
    found: dict[str, World] = {}
    for path in sorted(Path(__file__).parent.glob("worlds*.py")):
        module = importlib.import_module(f"manual.{path.stem}")
        for name, thing in inspect.getmembers(module, inspect.isfunction):
            if thing.__module__ == module.__name__ and not name.startswith("_") and name != "gathered":
                assert name not in found, f"two worlds are called {name!r}"
                found[name] = thing
    return found
