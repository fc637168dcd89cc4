"""Candidates for records: what changes between two releases of a package that could make training wrong or right."""
