"""Measured truth: tiny paired training runs in the interpreter of the user, or in releases laid over one another."""
