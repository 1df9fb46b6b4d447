"""Descriptions: a private profile of every column of a table, for one stated price."""
