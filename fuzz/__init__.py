"""Fuzzing of gradcompat: grammars and mutations make files and folders, oracles judge what every command makes of them.

``fuzz/run --inputs 300000`` is a campaign; ``docs/fuzzing.md`` has what the last one found.
"""
