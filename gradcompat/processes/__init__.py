"""Other processes: programs on the path, workers that may crash."""
