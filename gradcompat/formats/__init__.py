"""Texts in JSON, YAML, TOML and shell, with the lines of their values: what readers and scanners have in common."""
