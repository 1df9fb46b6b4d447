"""Surveys under local differential privacy: protocols, what runs on a respondent's device, and the collector."""
