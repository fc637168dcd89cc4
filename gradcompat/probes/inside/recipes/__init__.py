"""Recipes: each module has ``measure(parameters, device, seed)``, which returns numbers and judges nothing."""
