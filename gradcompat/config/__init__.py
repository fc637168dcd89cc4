"""The options that a project keeps in gradcompat.toml or pyproject.toml."""
