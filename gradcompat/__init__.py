"""Version-compatibility resolver and advisor for deep-learning training stacks."""

__version__ = "0.1.0"
