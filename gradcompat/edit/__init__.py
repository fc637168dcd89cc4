"""Writes a plan into the files of a project, and keeps everything else in them."""
