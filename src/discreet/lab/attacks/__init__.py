"""Attacks: functions that return Evidence."""
