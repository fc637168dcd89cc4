"""Findings that do not count: waivers, baselines and what an earlier revision already had."""
