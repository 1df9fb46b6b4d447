"""Reconstruction (Dinur and Nissim): overly exact answers to too many questions give the table away."""

from discreet.lab.attacks.reconstruction.answer_noise import AnswerNoise
from discreet.lab.attacks.reconstruction.count_attack import METHODS, attack, demo, reconstruct

__all__ = ["METHODS", "AnswerNoise", "attack", "demo", "reconstruct"]
