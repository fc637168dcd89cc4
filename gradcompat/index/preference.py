"""Which file of a release says what the release requires."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from gradcompat.index.filenames import of_wheel
from gradcompat.index.listing import version_of
from gradcompat.model.release import Distribution, Target


def best_first(files: Sequence[Distribution], name: str, target: Target) -> list[Distribution]:
    """The files of a release, that one first whose metadata counts most for a machine.

    Wheels of one release may require different things, although they should not: torch's did. So the metadata is that
    of a wheel for the machine, or for any, and only else of another one.
    """
    interpreter = "cp" + "".join(target.python.split(".")[:2])
    family = {"linux": ("linux", "manylinux"), "darwin": ("macosx",), "win32": ("win",)}.get(
        target.platform, ("linux",)
    )

    def rank(file: Distribution) -> tuple[object, ...]:
        found = of_wheel(file.filename, name)
        if found is None:
            return (1, file.yanked, not file.filename.endswith(".tar.gz"), file.filename)
        tags, abi, system = found[1].split("-")
        machines = (target.machine.lower(), "universal2") if target.platform == "darwin" else (target.machine.lower(),)
        if system == "any":
            place = 0
        elif system.startswith(family):
            place = 0 if system.endswith(machines) else 1
        else:
            place = 2
        fits = tags.startswith("py3") or interpreter in tags.split(".") or abi == "abi3"
        return (0, file.yanked, place, not fits, file.filename)

    ordered = sorted(files, key=rank)
    # Of several builds of one release an installer takes the one with the highest local label.
    versions = {file.filename: version_of(file.filename, name) for file in files}
    ordered.sort(key=lambda file: versions[file.filename] or Version("0"), reverse=True)
    return ordered
