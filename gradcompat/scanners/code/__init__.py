"""Programs in Python and notebooks, read from their syntax trees; nothing is imported and nothing is run."""
