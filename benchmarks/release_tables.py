"""Compare the tables of releases with what really installed releases have.

    python benchmarks/release_tables.py --python BASE/bin/python [--layer DIR]... [--tables DIR] PACKAGE==VERSION

Every public module is imported in the other interpreter, where the layers stand first on the path. Counted are names
that exist and that the table says are absent (a false alarm), names that the table says exist and that do not, and
callables of which the parameters differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from packaging.version import Version

from gradcompat.releases.answers import Presence
from gradcompat.releases.table import FOLDER, SUFFIX, ReleaseTable

_INSIDE = Path(__file__).with_name("installed_names.py")
_KINDS = {
    "POSITIONAL_ONLY": "positional",
    "POSITIONAL_OR_KEYWORD": "any",
    "KEYWORD_ONLY": "keyword",
    "VAR_POSITIONAL": "*",
    "VAR_KEYWORD": "**",
}


def main() -> int:
    """Compare one release, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release")
    parser.add_argument("--python", required=True)
    parser.add_argument("--layer", action="append", default=[])
    parser.add_argument("--tables", type=Path, default=FOLDER)
    parser.add_argument("--show", action="store_true", help="list what differs")
    given = parser.parse_args()
    package, _, text = given.release.partition("==")
    table, version = ReleaseTable(given.tables / (package + SUFFIX)), Version(text)
    modules = [one for one in table.modules(version) if not any(part.startswith("_") for part in one.split("."))]
    path = os.pathsep.join(given.layer)
    found = subprocess.run(
        [given.python, "-W", "ignore", str(_INSIDE), package],
        input="\n".join(modules),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
    )
    figures = dict.fromkeys(
        (
            *("modules", "failed", "names", "false_absent", "false_present", "unknown"),
            *("signatures", "differ", "not_said"),
        ),
        0,
    )
    shown = []
    first, *lines = found.stdout.splitlines() or ["{}"]
    if json.loads(first).get("version") != text:
        sys.exit(f"{given.release} is not what is installed: {first} {found.stderr[-300:]}")
    for line in lines:
        answer = json.loads(line)
        module = answer["module"]
        if "failed" in answer:
            figures["failed"] += 1
            shown.append(f"not imported: {module}: {answer['failed']}")
            continue
        figures["modules"] += 1
        real = {name for name in answer["names"] if not (name.startswith("__") and name.endswith("__"))}
        for name in sorted(real):
            presence = table.presence(version, module, name)
            figures["names"] += 1
            figures["unknown"] += presence is Presence.UNKNOWN
            if presence is Presence.ABSENT:
                figures["false_absent"] += 1
                shown.append(f"said to be absent: {module}.{name}")
        for name in sorted(table.names(version, module) - real - {"__all__"}):
            if not name.startswith("__"):
                figures["false_present"] += 1
                shown.append(f"said to be present: {module}.{name}")
        for name, parameters in answer["signatures"].items():
            said = table.signature(version, f"{module}.{name}", lambda _: None)
            figures["signatures"] += 1
            if said is None or parameters is None or not said.certain:
                figures["not_said"] += 1
                continue
            expected = [[named, _KINDS[kind], default] for named, kind, default in parameters]
            actual = [[one.name, one.kind, one.default is not None] for one in said.parameters]
            if expected != actual:
                figures["differ"] += 1
                shown.append(f"parameters: {module}.{name}: {said.parameters} but {parameters}")
    if given.show:
        print("\n".join(shown))
    print(json.dumps({"release": given.release, **figures}))
    return found.returncode


if __name__ == "__main__":
    sys.exit(main())
