"""`discreet attack NAME`: one file here for each attack, which adds its verb to `attack_app`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from discreet.cli.verb_app import VerbApp

attack_app = VerbApp(
    no_args_is_help=True,
    help="Attack weak protections. Each attack reports its success rate, and that of guessing by chance.",
)

for attack_module in iter_modules(__path__):
    import_module(f"{__name__}.{attack_module.name}").register(attack_app)
