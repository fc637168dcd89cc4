"""Releases and their metadata, from package indexes and from a snapshot of one."""
