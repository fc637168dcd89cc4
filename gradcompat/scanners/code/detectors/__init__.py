"""Single constellations in a program that records ask for: one module each, which `scanners/code` calls."""
