"""The lab: attacks on what does not protect, and measurements of what does. Every one returns `Evidence`."""
