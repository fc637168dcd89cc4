"""Configs of training tools, one module a tool, and what their readers share."""
