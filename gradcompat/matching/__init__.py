"""The kernel: which records an environment and a run meet, and in which of a lockfile's forks."""
