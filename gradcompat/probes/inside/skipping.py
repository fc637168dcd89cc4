"""How a recipe says that the environment lacks what it needs."""


class Skip(Exception):
    """Nothing can be measured here; the text says why, as a sentence without full stop."""
