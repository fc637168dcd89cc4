"""The smallest change of an environment after which no finding is left."""
