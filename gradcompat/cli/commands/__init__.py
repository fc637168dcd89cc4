"""One module a command: it parses, calls the domain and prints.

A module has a function ``command``: its parameters are the options, its docstring is the manual, and it returns the
exit status. A package has ``COMMANDS`` of its own, and its docstring is the manual of the group.
"""

from __future__ import annotations

_HERE = "gradcompat.cli.commands"

# Name → module, in the order of `--help`.
COMMANDS = {
    **{
        name: f"{_HERE}.{name}"
        for name in (
            *("check", "ask", "plan", "fix", "waive", "constraints", "inspect", "explain", "diagnose", "probe"),
            "run",
        )
    },
    "knowledge": f"{_HERE}.knowledge",
}
