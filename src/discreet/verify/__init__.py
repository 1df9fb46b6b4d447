"""The independent checker of bundles, `python -m discreet.verify FOLDER`: it imports nothing of Discreet.

Its files are those of the folder `verify/` of the source, unchanged. A wheel has them here; a checkout has them there.
"""
