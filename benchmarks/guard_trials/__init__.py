"""Trials of the guard: defect × release × way in, each cell run in a real release laid over one environment."""
