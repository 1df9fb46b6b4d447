"""Noisy tables from anywhere, made to agree: the consistent tables, their errors, and rows. No project, no charge."""
