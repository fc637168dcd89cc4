"""How a report is shown: one module a format, each with ``render(report, out)``."""
