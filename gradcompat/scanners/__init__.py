"""Scanners of training configs, launch scripts and code: each says what the training does, in one vocabulary.

A scanner is a module with ``scan(document) -> Context`` and one line in :mod:`.registry`; most of it is a table that
says which key of the tool feeds which key of the vocabulary.
"""
