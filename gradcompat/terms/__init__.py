"""What a record asks of settings, classes and code, and whether an environment and a run meet it."""
