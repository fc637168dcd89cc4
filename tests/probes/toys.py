"""A package whose releases are right or wrong as their version says, laid down without an installer, and its index."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.model.probe import ProbeSpec
from gradcompat.model.release import Release
from gradcompat.probes.overlay_environments import Base
from gradcompat.recipes.recipe import Expectation, Recipe

TOY_RECIPE = Recipe(
    name="toy",
    module=str(Path(__file__).parents[1] / "fixtures" / "probes" / "toy.py"),
    summary="What a toy says of itself.",
    parameters={"skip": (False, True), "fail": (False, True)},
    expectations=(Expectation("ratio", 0.9, 1.1, "the toy is {} times right"),),
    controls=(Expectation("control", 0.9, 1.1, "the control is {}"),),
    variants=({}, {"fail": True}),
    needs=("toy",),
)
SPEC = ProbeSpec(name="toy")
PURE = ("py3-none-any",)
BASE = Base(
    interpreter=Path(sys.executable),
    python=".".join(map(str, sys.version_info[:3])),
    platform="linux",
    machine="x86_64",
    implementation="cp",
    glibc="2.31",
    packages={"numpy": "2.2.6", "Torch": "2.13.0"},
)


def source(ratio: float, sleep: float = 0.0, version: str = "0") -> str:
    return f"__version__ = {version!r}\nRATIO = {ratio}\nSLEEP = {sleep}\n"


def laid(cache: Path, ratios: Mapping[str, float], name: str = "toy", sleep: float = 0.0) -> Path:
    """The layers of these releases, as if they had been installed."""
    short = "".join(BASE.python.split(".")[:2])
    for version, ratio in ratios.items():
        folder = cache / f"cp{short}-site-packages" / f"{name}-{version}" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(source(ratio, sleep, version), "utf-8")
    return cache


def ran(cache: Path) -> dict[str, int]:
    """How often each release was measured."""
    return {
        path.parent.name.removeprefix("toy-"): len(path.read_text("utf-8").splitlines())
        for path in sorted(cache.glob("*/*/ran"))
    }


def wheel(name: str, version: str, content: str) -> bytes:
    """A wheel that can be installed."""
    out = io.BytesIO()
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"{name}/__init__.py", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return out.getvalue()


def release(
    version: str, name: str = "toy", uploaded: str | None = None, wheels: tuple[str, ...] = PURE, **more: object
) -> Release:
    when = None if uploaded is None else f"{uploaded}T12:00:00Z"
    return Release(name=name, version=Version(version), uploaded=when, wheels=wheels, **more)  # type: ignore[arg-type]


class Table:
    """A catalogue of what a test says; a package that is None does not answer."""

    def __init__(
        self, releases: Iterable[Release], requires: Mapping[str, Sequence[str] | None] | None = None, silent: str = ""
    ) -> None:
        self._releases = tuple(releases)
        self._requires = requires or {}
        self._silent = silent

    @property
    def described(self) -> str:
        return "the table"

    def expect(self, names: Iterable[str]) -> None:
        """Nothing."""

    def expect_requirements(self, releases: Iterable[Release]) -> None:
        """Nothing."""

    def releases(self, name: str) -> tuple[Release, ...]:
        if name == self._silent:
            raise IndexUnavailable(f"`{name}`: the index does not answer")
        return tuple(sorted((one for one in self._releases if one.name == name), key=lambda one: one.version))

    def release(self, name: str, version: Version) -> Release | None:
        return next((one for one in self.releases(name) if one.version == version), None)

    def requires(self, release: Release) -> tuple[str, ...] | None:
        found = self._requires.get(f"{release.name} {release.version}", ())
        return None if found is None else tuple(found)
