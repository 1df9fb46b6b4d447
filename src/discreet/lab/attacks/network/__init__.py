"""Attacks on statistics of networks: do two people know each other, and is somebody there at all?"""

from discreet.lab.attacks.network.network_attack import attack, demo
from discreet.lab.attacks.network.tales import TALES

__all__ = ["TALES", "attack", "demo"]
