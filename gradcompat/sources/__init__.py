"""Readers of lockfiles, environments and reports: each maps one format to the same :class:`Environment`.

A reader is a module with one function, ``read(document) -> Environment``, and one line in :mod:`.registry`.
"""
