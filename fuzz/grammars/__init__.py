"""Grammars: functions from a random generator to the text of a file."""
