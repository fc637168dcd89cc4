"""Shell scripts that install what a project trains with: ``install.sh``, ``setup_env.sh``.

A best effort, and every result says so: nothing is run, what was installed before is not seen, and a command counts
only if all its words stand there.
"""

from __future__ import annotations

from bisect import bisect_right

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.messages import BEST_EFFORT
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.build_contexts import build_contexts
from gradcompat.sources.pip_command import AuditRequest, Script, read_included, read_script


def read(document: Document) -> Environment:
    """Read a script.

    Raises:
        Malformed: if it installs nothing.
    """
    starts = [0, *(index + 1 for index, character in enumerate(document.text) if character == "\n")]
    files: set[str] = set()

    def place(offset: int) -> Location:
        line = bisect_right(starts, offset)
        return Location(path=document.path, line=line, column=offset - starts[line - 1] + 1)

    def include(name: str, location: Location) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
        if name in files:  # of a file that is installed twice nothing is new
            return (), ()
        files.add(name)
        # It is started in its own folder or in one above it.
        return read_included(document, name.removeprefix("./"), location, build_contexts(document), above=True)

    asked = AuditRequest()
    read_script(Script(document.text, place, include, braces=True), {}, asked)
    if not asked.packages and not asked.skipped:
        raise Malformed("installs nothing with pip, uv or conda", path=document.path)
    reason = f"{BEST_EFFORT}: what was installed before is not seen"
    note = Skipped(what=document.path, reason=reason, gap=False, location=Location(path=document.path))
    return Environment(
        source=document.path,
        kind="install-script",
        packages=tuple(asked.packages),
        closed=False,
        skipped=(note, *asked.skipped),
    )
