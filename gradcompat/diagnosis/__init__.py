"""Logs and curves of training runs: what they show, and which records explain it."""
