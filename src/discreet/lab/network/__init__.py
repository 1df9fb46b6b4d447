"""Attacks on statistics of networks: do two people know each other, and is somebody there at all?"""

from discreet.lab.network.attacking import attack, demo
from discreet.lab.network.tales import TALES

__all__ = ["TALES", "attack", "demo"]
