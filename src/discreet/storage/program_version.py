"""Which program writes a file: files that another version may not read by themselves name it."""

VERSION = "0.2.0"
