"""Collectors: they read sources that need no key and propose what data/prices should say.

A collector gets bytes through `fetch`, turns them into offers with `offer`, and `merge` decides what enters a file.
Names are looked up whole in data/gpu_aliases.csv and data/instances.csv, never guessed; what is not there is named in
the report.
"""
