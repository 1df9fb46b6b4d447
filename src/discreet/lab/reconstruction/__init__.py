"""Reconstruction (Dinur and Nissim): overly exact answers to too many questions give the table away."""

from discreet.lab.reconstruction.attacking import METHODS, attack, demo, reconstruct
from discreet.lab.reconstruction.world import Noise

__all__ = ["METHODS", "Noise", "attack", "demo", "reconstruct"]
