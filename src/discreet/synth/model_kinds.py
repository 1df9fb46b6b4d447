"""The models that can be fitted, by name."""

from __future__ import annotations

from collections.abc import Callable

from discreet.synth.aim import aim
from discreet.synth.fit_task import FitTask, ModelFit
from discreet.synth.independent import independent
from discreet.synth.mst import mst
from discreet.synth.privbayes import privbayes

KINDS: dict[str, Callable[[FitTask], ModelFit]] = {
    "independent": independent,
    "privbayes": privbayes,
    "mst": mst,
    "aim": aim,
}

#: Other names of them: DataSynthesizer's, where it has one of its own (`random` and `independent` are the same).
OTHER_NAMES = {"correlated": "privbayes"}
